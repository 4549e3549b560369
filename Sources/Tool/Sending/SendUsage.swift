import ArgumentParser
import CommandOptions

/// Checks for incompatible options of broadcasts and Live Activities.
extension SendOptions {
  func validateBroadcast() throws {
    if !tokens.isEmpty || list != nil {
      throw ValidationError(
        "a notification goes to devices or to a channel, not both: leave out \(list == nil ? "the tokens" : "--tokens"), or --channel"
      )
    }
    if !channel.isEmpty, channelList != nil {
      throw ValidationError("give either --channel or --channels, not both")
    }
    if let wrong = channel.first(where: { ChannelID($0.utf8) == nil }) {
      throw ValidationError("--channel: '\(wrong)' \(ChannelID.fault)")
    }
    if let pushType, pushType != .liveactivity {
      throw ValidationError(
        "a broadcast is for Live Activities: it cannot have --push-type \(pushType.rawValue)")
    }
    if collapseID != nil {
      throw ValidationError("--collapse-id is for devices: a broadcast cannot have it")
    }
    if activity.liveActivity == .start {
      throw ValidationError(
        "a broadcast cannot start a Live Activity: start it with a push to each device, and "
          + "--input-push-channel subscribes it to the channel")
    }
    if topic == nil, provider.p8 != nil {
      throw ValidationError("a broadcast with --p8 needs --topic, the app's bundle ID")
    }
  }

  func validateActivity() throws {
    if payload.payload != nil {
      throw ValidationError(
        "--payload is the whole payload: --live-activity makes one from --content-state")
    }
    if let name = payload.notOfActivities {
      throw ValidationError("a Live Activity has no \(name)")
    }
    if let pushType, pushType != .liveactivity {
      throw ValidationError(
        "--live-activity cannot have --push-type \(pushType.rawValue): leave it out")
    }
  }
}

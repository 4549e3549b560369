import ArgumentParser
import CAPNS
import Client
import CommandOptions
import JSON

/// What a channel stores for devices that subscribe later.
enum ChannelStorage: String, CaseIterable, ExpressibleByArgument {
  case none, latest

  var policy: apns_storage_t { self == .none ? APNS_STORAGE_NONE : APNS_STORAGE_LATEST }

  static func name(_ policy: Int32) -> String {
    allCases.first { Int32($0.policy.rawValue) == policy }?.rawValue ?? "\(policy)"
  }
}

struct ChannelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "channel",
    abstract: "Create, show, list and delete the channels that broadcasts go to.",
    discussion: """
      A channel for a match, and an update to all subscribers:

          channel=$(apns channel create --storage latest --topic com.example.app \\
            --p8 AuthKey_ABCDE12345.p8 --team-id TEAM123456)
          apns send --channel "$channel" --topic com.example.app \\
            --p8 AuthKey_ABCDE12345.p8 --team-id TEAM123456 \\
            --live-activity update --content-state state.json

      Channels belong to an app and an environment: the sandbox (--sandbox) has separate channels. \
      An app has at most 10,000 in each. Apple manages them on separate hosts, at port 2196, and \
      2195 for the sandbox.

      JSON, with --json, is one object per line:

      \(ChannelOptions.members)

      \(Exit.ofChannels)
      """,
    subcommands: [Create.self, Show.self, List.self, Delete.self])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create a channel, and print its ID.",
      discussion: """
            apns channel create --certificate provider.pem --storage latest

        The request is not repeated: if the response was lost, the channel may exist, and apns \
        channel list shows it.

        \(Exit.ofChannels)
        """)

    @OptionGroup var options: ChannelOptions

    @Option(
      help: """
        What the channel stores for devices that subscribe later: none, or the latest broadcast \
        until it expires.
        """)
    var storage = ChannelStorage.none

    func run() throws {
      let storage = storage
      try ChannelRequest.carryOut(options) { (_, service, members) throws(LibraryError) in
        let id = try service.create(storage.policy)
        members.add("channel", .text(id))
        members.add("storage", .text(storage.rawValue))
        return id + "\n"
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the push type of channels, and what they store.",
      discussion: """
            apns channel show --certificate provider.pem dHN0LXNyY2gtY2hubA==

        \(Exit.ofChannels)
        """)

    @OptionGroup var options: ChannelOptions
    @Argument(help: .of("channel", "The channel ID."))
    var ids: [String]

    func validate() throws { try ChannelOptions.check(ids) }

    func run() throws {
      try ChannelRequest.carryOut(options, ids) { (id, service, members) throws(LibraryError) in
        let description = try service.describe(id)
        let storage = ChannelStorage.name(description.storage)
        let type = apns_push_type_t(rawValue: UInt32(bitPattern: description.pushType))
        let kind =
          description.pushType == 0
          ? "another push type" : String(cString: apns_push_type_text(type))
        members.add("storage", .text(storage))
        members.add("push_type", .text(kind))
        return "\(id)  \(kind), storage \(storage)\n"
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the app's channels, one per line.",
      discussion: """
        The number of channels:

            apns channel list --certificate provider.pem | wc -l

        An update to all of them:

            apns channel list --certificate provider.pem | \\
              apns send --certificate provider.pem --channels - \\
                --live-activity end --dismissal-date +60

        With --json each line is an object with a channel, and the last line has their number.

        \(Exit.ofChannels)
        """)

    @OptionGroup var options: ChannelOptions

    func run() throws {
      let isJSON = options.json
      try ChannelRequest.carryOut(options) { (_, service, members) throws(LibraryError) in
        var (text, count) = ("", 0)
        try service.list { id in
          count += 1
          let line = isJSON ? JSONMembers.object(["channel": .text(id)]) : Printable.line(id)
          text += line + "\n"
        }
        members.add("channels", .number(count))
        if isJSON { StandardStream.output.write(text) }
        return text
      }
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete channels.",
      discussion: """
            apns channel delete --certificate provider.pem dHN0LXNyY2gtY2hubA==

        Live Activities that subscribe to a deleted channel get no more updates. There is a line \
        for each channel, and if one does not exist, the others are deleted all the same.

        \(Exit.ofChannels)
        """)

    @OptionGroup var options: ChannelOptions
    @Argument(help: .of("channel", "The channel ID."))
    var ids: [String]

    func validate() throws { try ChannelOptions.check(ids) }

    func run() throws {
      try ChannelRequest.carryOut(options, ids) { (id, service, _) throws(LibraryError) in
        try service.delete(id)
        return "\(id)  deleted\n"
      }
    }
  }
}

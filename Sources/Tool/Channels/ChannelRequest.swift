import APNSLibrary
import CAPNS

/// Sends a channel management request, and prints its result.
struct ChannelRequest {
  var options: ChannelOptions
  var service: ChannelService
  /// The channel; nil where it is a new one, or all.
  var id: String?

  /// Whether it was accepted. Without a service to speak to nothing else is tried.
  func isDone(
    _ ask: (inout JSONMembers) throws(LibraryError) -> String
  ) throws -> Bool {
    var members = JSONMembers()
    members.add("channel", text: id)
    do throws(LibraryError) {
      var more = members
      let text = try ask(&more)
      if options.json {
        more.add("outcome", text: SendOutcome.Kind.accepted.rawValue)
        tell(&more)
      } else {
        StandardStream.output.write(text)
      }
      return true
    } catch {
      switch error.status {
      case APNS_ERR_REFUSED:
        reject(error, &members)
        return false
      case APNS_ERR_IN_DOUBT:
        if options.json {
          members.add("outcome", text: SendOutcome.Kind.unknown.rawValue)
          tell(&members)
        }
        _ = Exit.said(error.message, Exit.someRejected)
        StandardStream.error.write("  apns channel list shows which channels there are\n")
        return false
      default: throw Exit.unreached(error, options.provider.shown)
      }
    }
  }

  private func reject(_ error: LibraryError, _ members: inout JSONMembers) {
    let answer = service.answer
    if options.json {
      members.add("outcome", text: SendOutcome.Kind.rejected.rawValue)
      if !answer.reason.isEmpty { members.add("reason", text: answer.reason) }
      tell(&members)
    }
    let name = id.map { "\($0): " } ?? ""
    let request = answer.requestIdentifier.isEmpty ? "" : " (request \(answer.requestIdentifier))"
    _ = Exit.said("\(name)\(error.message)\(request)", Exit.someRejected)
    if let words = ReasonCause.words(answer.reason) {
      StandardStream.error.write("  \(Printable.line(words))\n")
    }
  }

  /// A line with what the service answered.
  private func tell(_ members: inout JSONMembers) {
    let answer = service.answer
    if answer.httpStatus != 0 { members.add("http_status", number: answer.httpStatus) }
    if answer.retryAfter != 0 { members.add("retry_after", number: answer.retryAfter) }
    if !answer.requestIdentifier.isEmpty {
      members.add("request_id", text: answer.requestIdentifier)
    }
    StandardStream.output.write(members.object + "\n")
  }
}

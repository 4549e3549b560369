import ArgumentParser
import Client
import JSON

/// `apns send --dry-run`: everything but the connection.
struct DryRun {
  private let options: SendOptions
  private let credentials: ProviderCredentials
  private let source: DeviceSource
  private var record: RunRecord
  private var ready = 0

  init(_ options: SendOptions, _ credentials: ProviderCredentials, _ template: Template) throws {
    self.options = options
    self.credentials = credentials
    source = try DeviceSource(options, template)
    record = try RunRecord(options, template, listSize: source.size)
  }

  mutating func go() throws -> ExitCode {
    // The session itself reports incompatible options.
    _ = try Exit.refusing {
      try PushSession(
        options.sessionOptions(credentials), credentials: credentials, delivery: options.delivery)
    }
    do {
      while Interruption.times == 0, let next = try source.next(where: { _ in true }) {
        switch next.device {
        case .ready(let to, let payload): try check(next.number, to, payload)
        case .refused(let to, let reason): record.refuse(next.number, to, reason)
        case nil: break
        }
        try record.write()
      }
    } catch let fault as FileFault {
      throw Exit.report(fault.description, Exit.usage)
    }
    report()
    return record.tally[.refused] == 0 && Interruption.times == 0 ? .success : Exit.someRejected
  }

  private mutating func check(_ number: Int, _ to: Addressee, _ payload: [UInt8]) throws {
    try record.checkFirst(payload)
    let findings = LibraryFinding.all(in: payload, limit: options.limit)
    if let first = findings.first(where: \.isError) {
      record.refuse(number, to, "payload:\(first.line):\(first.column): \(first.message)")
    } else {
      ready += 1
    }
  }

  private func report() {
    let refused = record.tally[.refused]
    if options.json {
      let totals: JSONMembers = [
        "dry_run": .flag(true), "ready": .number(ready), "refused": .number(refused),
      ]
      StandardStream.output.write(totals.object + "\n")
    } else {
      let subject = (try? credentials.describe())?.subject
      StandardStream.error.write(
        "Dry run: \(Printable.grouped(ready)) could be sent, \(Printable.grouped(refused)) refused"
          + (subject.map { ", as \(Printable.line($0))" } ?? "") + "; nothing was sent\n")
    }
  }
}

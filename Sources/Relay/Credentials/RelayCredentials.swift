import Client
import CAPNS
import Foundation
import Logging

/// An app's credentials, and the provider token that all relays on a queue share. Immutable, so any
/// thread may use it.
final class RelayCredentials: @unchecked Sendable {
  let handle: OpaquePointer
  /// The UNIX second in which the certificate expires; nil without one.
  let certificateEnd: Int64?
  /// The source for the library's callback; nil if the library signs tokens.
  private let source: (any ProviderTokenSource)?

  /// `log` receives the failures of a program; nil for no log.
  init(_ app: AppConfiguration, queue: any ProviderTokenStore, log: Logger?) throws {
    let who = app.credentials
    let lent = LentStrings()
    var options = apns_credentials_options_t()
    options.size = MemoryLayout<apns_credentials_options_t>.size
    options.certificate_file = lent.lend(who.certificate)
    options.key_file = lent.lend(who.key)
    var passphrase: String?
    if let file = who.passphraseFile {
      let text = try String(contentsOfFile: file, encoding: .utf8)
      passphrase = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
    }
    options.passphrase = lent.lend(passphrase)
    options.ca_file = lent.lend(who.ca)
    options.token_cache_file = lent.lend(who.providerTokenCache ?? "off")
    if let program = TokenProgram(app) {
      let source = ProgramTokenSource(
        .of(program, queue: who.providerToken == .queue ? queue : nil, log: log))
      self.source = source
      Self.ask(source, in: &options)
    } else if let p8 = who.p8, let key = who.keyID, let team = who.teamID {
      if who.providerToken == .queue {
        let source = try QueueToken(
          p8: p8, key: key, team: team, passphrase: passphrase, queue: queue)
        self.source = source
        Self.ask(source, in: &options)
      } else {
        source = nil
        options.token_key_file = lent.lend(p8)
        options.key_id = lent.lend(key)
        options.team_id = lent.lend(team)
      }
    } else {
      source = nil
    }
    var handle: OpaquePointer?
    try withExtendedLifetime(lent) { () throws(LibraryError) in
      try calling { apns_credentials_new(&options, &handle, $0) }
    }
    self.handle = handle!
    var said = apns_credentials_description_t()
    said.size = MemoryLayout<apns_credentials_description_t>.size
    let isKnown = apns_credentials_describe(handle, &said, nil) == APNS_OK
    certificateEnd = isKnown && said.subject != nil ? said.not_after : nil
  }

  deinit { apns_credentials_free(handle) }

  /// Starts a program for tokens early, so that its first token is ready in time.
  func prepare() { (source as? ProgramTokenSource)?.tokens.prepare() }

  /// Signs a token, gets the queue's, or runs the program; throws if that fails.
  func tryToken() throws { try source?.tryToken() }

  /// The library does not retain the source: the caller must keep it.
  private static func ask<Source: ProviderTokenSource>(
    _ source: Source, in options: inout apns_credentials_options_t
  ) {
    options.token_context = Unmanaged.passUnretained(source).toOpaque()
    options.token_callback = { request, context in
      guard let request, let context else { return -1 }
      let object = Unmanaged<AnyObject>.fromOpaque(context).takeUnretainedValue()
      return (object as? any ProviderTokenSource)?.answer(&request.pointee) ?? -1
    }
  }
}

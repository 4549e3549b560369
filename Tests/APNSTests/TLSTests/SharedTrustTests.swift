import CAPNS
import COpenSSL
import Foundation
import Testing

@testable import APNS

/// Files with a certificate each, and credentials that trust them.
private final class TrustFiles {
  let directory = FileManager.default.temporaryDirectory
    .appendingPathComponent("apns-\(UUID().uuidString)").path

  init() throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    for name in ["one", "other"] { try make(name) }
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  func file(_ name: String) -> String { "\(directory)/\(name)" }

  private func make(_ name: String) throws {
    let openssl = Process()
    openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    openssl.arguments =
      ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
      + ["-subj", "/CN=\(name)", "-keyout", file("key"), "-out", file(name)]
    openssl.standardError = FileHandle.nullDevice
    try openssl.run()
    openssl.waitUntilExit()
    #expect(openssl.terminationStatus == 0)
  }

  /// Calls `act` with the store of new credentials, which end then. nil names the system's.
  @discardableResult
  func trust(
    _ name: String?, directory: String? = nil, _ act: (OpaquePointer) throws -> Void = { _ in }
  ) throws -> OpaquePointer {
    let texts = [name.map(file), directory].map { $0.map { strdup($0)! } }
    defer { texts.forEach { free($0) } }
    var options = apns_credentials_options_t()
    options.size = MemoryLayout<apns_credentials_options_t>.size
    options.ca_file = texts[0].map { UnsafePointer($0) }
    options.ca_directory = texts[1].map { UnsafePointer($0) }
    let context = try TrustContext(options)
    let store = SSL_CTX_get_cert_store(context.context)!
    try act(store)
    return store
  }

  func share(_ store: OpaquePointer, _ name: String?, directory: String? = nil) throws -> Bool {
    try trust(name, directory: directory) == store
  }
}

/// Which credentials share their CA certificates. Each test has its own process, because others read
/// CA certificates too.
@Suite struct SharedTrustTests {
  @Test func credentialsOfTheSameFileShareThem() async {
    await #expect(processExitsWith: .success) {
      let all = try TrustFiles()
      try all.trust("one") { one in
        try #require(try all.share(one, "one"))
        try #require(try !all.share(one, "one", directory: all.directory))
        try all.trust("other") { other in
          try #require(other != one)
          try #require(try all.share(other, "other"))
        }
      }
    }
  }

  @Test func aChangedFileIsReadAgain() async {
    await #expect(processExitsWith: .success) {
      let all = try TrustFiles()
      try all.trust("one") { one in
        try FileManager.default.removeItem(atPath: all.file("one"))
        try FileManager.default.copyItem(atPath: all.file("other"), toPath: all.file("one"))
        try #require(try !all.share(one, "one"))
      }
    }
  }

  @Test func theSystemsAreShared() async {
    await #expect(processExitsWith: .success) {
      let all = try TrustFiles()
      setenv("SSL_CERT_FILE", all.file("one"), 1)
      try all.trust(nil) { systems in
        try #require(try all.share(systems, nil))
        // Without the system's directory.
        try #require(try !all.share(systems, "one"))
      }
    }
  }
}

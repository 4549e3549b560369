import Foundation
import NIOCore
import Simulator
import Testing

@Suite struct CertificateTests {
  @Test func refusesAClientWithoutCertificate() async throws {
    let (totals, _) = try await Stage.run { stage in
      let provider = try await stage.provider(.none)
      // TLS 1.2: the refusal comes before the handshake is through.
      await #expect(throws: (any Error).self) { try await provider.connected() }
      #expect(try await provider.end().bytes.isEmpty)
    }
    #expect(totals.connections == 0)
    #expect(totals.refused == 1)
  }

  @Test(arguments: [nil, "localhost", "gateway.sandbox.push.apple.com"])
  func isGoodFor(name: String?) async throws {
    try await Stage.run { stage in
      let provider = try await stage.provider(serverName: name)
      try await provider.connected()
      _ = try await provider.finish()
    }
  }

  /// Bytes that come after the handshake and mean nothing are what breaks old clients.
  @Test func speaksTLS12UnlessTold() async throws {
    try await Stage.run { stage in
      let provider = try await stage.provider()
      try await provider.connected()
      #expect(try await provider.version() == .tlsv12)
      _ = try await provider.finish()
    }
    try await Stage.run {
      $0.tlsMax = .tls1_3
    } _: { stage in
      let provider = try await stage.provider()
      try await provider.connected()
      #expect(try await provider.version() == .tlsv13)
      try await provider.send(Frames.enhanced(1, token: []))
      #expect(try await provider.end().bytes == Frames.errorPacket(2, 1))
    }
  }

  @Test func isMadeOnceAndKeptPrivate() throws {
    let directory = CertificateDirectory(Stage.temporaryPath() + "/deep")
    defer { try? FileManager.default.removeItem(atPath: directory.path) }
    try directory.prepare()
    let files = [
      directory.ca, directory.server, directory.serverKey, directory.provider,
      directory.providerCertificate, directory.providerKey,
    ]
    let first = try files.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
    try directory.prepare()
    #expect(try files.map { try Data(contentsOf: URL(fileURLWithPath: $0)) } == first)
    for file in files { #expect(try permissions(of: file) == 0o600) }
    #expect(try permissions(of: directory.path) == 0o700)
  }

  @Test func namesTheFileThatIsWrong() throws {
    let directory = CertificateDirectory(Stage.temporaryPath())
    try Stage.certificates.prepare()
    try FileManager.default.copyItem(atPath: Stage.certificates.path, toPath: directory.path)
    defer { try? FileManager.default.removeItem(atPath: directory.path) }

    func complaint() -> String? {
      do {
        try directory.prepare()
        return nil
      } catch {
        return error.path
      }
    }

    #expect(complaint() == nil)
    let key = try Data(contentsOf: URL(fileURLWithPath: directory.serverKey))
    try FileManager.default.removeItem(atPath: directory.serverKey)
    #expect(complaint() == directory.serverKey)
    try Data("nonsense".utf8).write(to: URL(fileURLWithPath: directory.serverKey))
    #expect(complaint() == directory.serverKey)
    try Data(contentsOf: URL(fileURLWithPath: directory.providerKey))
      .write(to: URL(fileURLWithPath: directory.serverKey))
    #expect(complaint() == directory.serverKey)
    try key.write(to: URL(fileURLWithPath: directory.serverKey))
    let cut = try Data(contentsOf: URL(fileURLWithPath: directory.ca)).prefix(100)
    try cut.write(to: URL(fileURLWithPath: directory.ca))
    #expect(complaint() == directory.ca)
  }

  private func permissions(of path: String) throws -> Int? {
    (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?
      .intValue
  }
}

import NIOCore
import NIOHTTP2

/// Gives a client credit for the bytes it sent, on the connection and on its streams.
struct FlowControl {
  private let faults: ConnectionFaults
  private var connection = WindowCredit()
  private var window = WindowUse()

  init(faults: ConnectionFaults) { self.faults = faults }

  /// The bytes that a DATA frame takes from the flow-control windows.
  static func size(of data: HTTP2Frame.FramePayload.Data) -> Int {
    data.data.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
  }

  /// The initial credit of a connection, or 0. A window smaller than the protocol's works by
  /// withholding credit.
  mutating func begin() -> Int {
    guard let window = faults.faults.connectionWindowSize else { return 0 }
    let difference = min(window, Int(Int32.max)) - PushSettings.window
    if difference < 0 { connection.withhold(-difference) }
    return max(0, difference)
  }

  mutating func granted(_ credit: Int) { window.grant(credit) }

  /// The connection's window according to NIO.
  mutating func windowUpdated(_ left: Int) { window.left = left }

  mutating func received(_ size: Int) { window.count(size) }

  /// Bytes that NIO took from the window without passing them on.
  mutating func takeIgnored() -> Int { window.takeIgnored() }

  /// The used share of a window at which credit is given.
  var share: Double { faults.faults.creditShare }

  /// The credit to give on the connection now that `size` bytes were read; 0 if it is too early.
  mutating func use(_ size: Int) -> Int {
    let window = faults.faults.connectionWindowSize ?? PushSettings.window
    return connection.use(size, of: window, share: share)
  }
}

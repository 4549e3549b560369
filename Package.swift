// swift-tools-version:6.1
import PackageDescription

let package = Package(
  name: "libapns",
  products: [.executable(name: "apns", targets: ["Tool"])],
  // What the first build spends of its CPU, some 170 s on two cores: swift-nio 67 with
  // swift-collections 18 and swift-atomics 6, swift-nio-http2 21, swift-argument-parser 10,
  // swift-log 2; our own modules 56.
  // OpenSSL, which the core links anyway, speaks the servers' TLS, reads and makes certificates and
  // checks signatures: swift-nio-ssl with its BoringSSL would double all that. One HTTP server is
  // enough, too: NIO's, for the control API and for the page.
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.34.0"),
  ],
  targets: [
    .systemLibrary(name: "CAPNS", path: "include"),
    // swift-system, which SwiftNIO brings, has a target CSystem: ours goes by another name
    // in the package and by that of its module map in the sources.
    .systemLibrary(name: "CAPNSSystem", path: "Sources/CSystem"),
    .systemLibrary(
      name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
      name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(
      name: "CAres", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
    .target(
      name: "APNS", dependencies: ["CAPNS", "COpenSSL", "CNGHTTP2", "CAres", "CAPNSSystem"],
      swiftSettings: [.define("APNS_HTTP2"), .define("APNS_BINARY"), .define("APNS_CARES")]),
    .target(
      name: "BinaryServer",
      dependencies: [
        "APNS",
        "CAPNS",
        "COpenSSL",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ]),
    .target(
      name: "HTTPServer",
      dependencies: [
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ]),
    .target(
      name: "Simulator",
      dependencies: [
        "APNS",
        "BinaryServer",
        "COpenSSL",
        "HTTPServer",
        "JSON",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHPACK", package: "swift-nio-http2"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ]),
    .systemLibrary(name: "CMetrics", path: "Sources/CMetrics"),
    .target(name: "Client", dependencies: ["APNS", "CAPNS", "CMetrics"]),
    .target(name: "CSV"),
    .target(name: "JSON", dependencies: ["APNS"]),
    .target(
      name: "CommandOptions",
      dependencies: [
        "JSON", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .target(name: "CDashboard"),
    .target(
      name: "Dashboard",
      dependencies: [
        "CDashboard",
        "Client",
        "HTTPServer",
        "JSON",
        "Simulator",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      // CDashboard embeds them.
      exclude: ["Resources"]),
    .executableTarget(
      name: "Tool",
      dependencies: [
        "APNS",
        "BinaryServer",
        "COpenSSL",
        "CSV",
        "Client",
        "CommandOptions",
        "Dashboard",
        "JSON",
        "Simulator",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "APNSTests", dependencies: ["APNS"], path: "Tests/APNSTests"),
    .testTarget(
      name: "BinaryServerTests",
      dependencies: [
        "APNS",
        "BinaryServer",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ]),
  ]
)

// The relay, with packages that nobody fetches who does not ask for it.
if Context.environment["APNS_RELAY"] != nil {
  package.dependencies += [
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
  ]
  package.products.append(.executable(name: "apns-relay", targets: ["apns-relay"]))
  package.targets += [
    .systemLibrary(
      name: "CHiredis", path: "Sources/CHiredis", pkgConfig: "hiredis",
      providers: [.apt(["libhiredis-dev"])]),
    .systemLibrary(name: "CSQLite", path: "Sources/CSQLite"),
    .target(name: "CProcess"),
    .target(
      name: "Relay",
      dependencies: [
        "APNS",
        "Client",
        "BinaryServer",
        "CAPNS",
        "CAPNSSystem",
        "CHiredis",
        "COpenSSL",
        "CProcess",
        "CSQLite",
        "CSV",
        "HTTPServer",
        "JSON",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHPACK", package: "swift-nio-http2"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOTLS", package: "swift-nio"),
        .product(name: "Yams", package: "Yams"),
      ],
      resources: [.embedInCode("Status/Resources")]),
    .executableTarget(
      name: "apns-relay",
      dependencies: [
        "CAPNS",
        "CProcess",
        "Client",
        "CommandOptions",
        "JSON",
        "Relay",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "RelayTests", dependencies: ["Relay"], path: "Tests/RelayTests",
      exclude: ["layouts.sql"]),
  ]
}

// For the tests our own modules are compiled fast, while their packages are optimized: a push
// through the simulator takes 0.1 ms of a processor then, and with an unoptimized NIO 1.5.
if Context.environment["APNS_UNOPTIMIZED"] != nil {
  for target in package.targets where target.type != .system {
    target.swiftSettings =
      (target.swiftSettings ?? []) + [.unsafeFlags(["-Onone", "-enable-testing"])]
  }
}

// The core by itself, for the sanitizers: the simulator's packages take minutes to build.
if Context.environment["APNS_CORE_ONLY"] != nil {
  let core = ["CAPNS", "CAPNSSystem", "COpenSSL", "CNGHTTP2", "CAres", "APNS", "APNSTests"]
  package.dependencies = []
  package.products.removeAll { $0.name == "apns" }
  package.targets.removeAll { !core.contains($0.name) }
}

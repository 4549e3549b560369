import SwiftASN1
import X509

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Certificates in a person's words.
extension Certificate {
  var validFrom: Int64 { Int64(notValidBefore.timeIntervalSince1970) }
  var validUntil: Int64 { Int64(notValidAfter.timeIntervalSince1970) }

  var isSelfSigned: Bool { subject == issuer }

  /// The names and addresses that it is for.
  var names: [String] {
    guard let names = try? extensions.subjectAlternativeNames else { return [] }
    return names.compactMap { name in
      switch name {
      case .dnsName(let name): name
      case .ipAddress(let address): Self.text(of: Array(address.bytes))
      default: nil
      }
    }
  }

  private static func text(of address: [UInt8]) -> String? {
    if address.count == 4 { return address.map { "\($0)" }.joined(separator: ".") }
    guard address.count == 16 else { return nil }
    return stride(from: 0, to: 16, by: 2).map {
      String(UInt16(address[$0]) << 8 | UInt16(address[$0 + 1]), radix: 16)
    }.joined(separator: ":")
  }

  /// Where its issuer's certificate can be had, which only an authority with intermediates says.
  var namesIssuersPlace: Bool {
    (try? extensions.authorityInformationAccess)??.contains { $0.method == .issuingCA } ?? false
  }

  /// Nil where it does not say what it is for.
  var isForClients: Bool? {
    guard let usage = try? extensions.extendedKeyUsage else { return nil }
    return usage.contains(.clientAuth) || usage.contains(.any)
  }
}

extension DistinguishedName {
  /// The organization, where it has one.
  var organization: String? {
    for part in self {
      for attribute in part where attribute.type == .RDNAttributeType.organizationName {
        return String(describing: attribute.value)
      }
    }
    return nil
  }
}

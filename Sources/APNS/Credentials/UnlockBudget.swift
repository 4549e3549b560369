import CAPNS
import COpenSSL

/// Limits the cost of opening one source with its passphrase, for all its parts and attempts
/// together. The file decides how often a passphrase is hashed, and a file of a few hundred bytes
/// may require years of hashing. So each hashing is charged before it is done.
struct UnlockBudget {
  /// About a second on an ordinary core. An export with 600,000 rounds in each of its parts takes
  /// less.
  private static let maximum: UInt64 = 1_200_000_000
  /// As much as OpenSSL allows for scrypt.
  private static let maxMemory: UInt64 = 32 << 20
  /// The additional cost of each hashing, to look up algorithms; it matters for files of thousands
  /// of parts.
  private static let least: UInt64 = 20_000

  private var spent: UInt64 = 0
  private var count = 0

  mutating func charge(
    _ work: copenssl_work_t, _ source: borrowing CredentialSource
  ) throws(Failure) {
    switch work.derivation {
    case COPENSSL_PLAIN: return
    case COPENSSL_ROUNDS, COPENSSL_SCRYPT: break
    default:
      // Perhaps there was no memory to read the algorithm.
      try source.settle()
      throw source.fault(
        "is encrypted with an algorithm whose cost is unknown", cause: APNS_CAUSE_UNLOCK_COST)
    }
    let (sum, overflow) = spent.addingReportingOverflow(work.ns)
    guard !overflow, sum <= Self.maximum, work.memory <= Self.maxMemory else {
      throw Self.failure(work, after: count, source)
    }
    spent = sum &+ Self.least
    count &+= 1
  }

  @inline(never)
  private static func failure(
    _ work: copenssl_work_t, after count: Int, _ source: borrowing CredentialSource
  ) -> Failure {
    Failure(APNS_ERR_CREDENTIALS, cause: APNS_CAUSE_UNLOCK_COST) {
      source.append(to: &$0)
      if work.memory > maxMemory, work.ns <= maximum {
        $0.append(" takes too much memory to open: ")
        $0.append(work.memory >> 20)
        $0.append(" MiB, ")
      } else {
        $0.append(" takes too long to open: ")
      }
      if work.derivation == COPENSSL_SCRYPT {
        $0.append("scrypt with N ")
        $0.append(work.rounds)
        $0.append(", r ")
        $0.append(work.r)
        $0.append(", p ")
        $0.append(work.p)
      } else {
        $0.append(work.rounds)
        $0.append(" rounds of hashing")
      }
      if count > 0 {
        $0.append(", after ")
        $0.append(count)
        $0.append(" other keys")
      }
    }
  }
}

#if APNS_HTTP2
  import CNGHTTP2

  /// What all requests of a session have in common.
  struct PushAuthority {
    var authority: UnsafeRawBufferPointer
    /// "bearer …"; empty with a certificate.
    var authorization = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// The header fields of one request (Apple: Sending notification requests to APNs). Texts
  /// are lent, and have to stay until nghttp2 has put them into a frame.
  enum PushHeaders {
    static let most = 12

    /// Calls `body` with the fields.
    @inline(__always)
    static func with<Result>(
      _ request: StoredRequest, id: InlineArray<16, UInt8>, of authority: PushAuthority,
      _ body: (UnsafeMutableBufferPointer<nghttp2_nv>) -> Result
    ) -> Result {
      withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: most) { fields in
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: UUIDText.count) { idText in
          var count = 0
          /// Texts that are the same for many are found again in the header table.
          func put(
            _ name: StaticString, _ value: UnsafeRawBufferPointer, flags: nghttp2_nv_flag? = nil
          ) {
            guard value.count > 0, count < most else { return }
            var bits =
              NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
            if let flags { bits = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | flags.rawValue }
            (fields.baseAddress.unsafelyUnwrapped + count).initialize(
              to: nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start),
                value: UnsafeMutablePointer(
                  mutating: value.baseAddress?.assumingMemoryBound(to: UInt8.self)),
                namelen: name.utf8CodeUnitCount, valuelen: value.count,
                flags: UInt8(truncatingIfNeeded: bits)))
            count &+= 1
          }
          put(":method", bytes("POST"))
          put(":scheme", bytes("https"))
          put(":path", request.path)
          put(":authority", authority.authority)
          put("authorization", authority.authorization, flags: NGHTTP2_NV_FLAG_NONE)
          put("apns-topic", request.topic)
          put("apns-push-type", request.type.text)
          switch request.priority {
          case 10: put("apns-priority", bytes("10"))
          case 5: put("apns-priority", bytes("5"))
          case 1: put("apns-priority", bytes("1"))
          default: break
          }
          put("apns-expiration", request.expiry)
          put("apns-collapse-id", request.collapse)
          if !UUIDText.isZero(id), let text = idText.baseAddress {
            UUIDText.write(id, to: text)
            put(
              "apns-id", UnsafeRawBufferPointer(start: text, count: UUIDText.count),
              flags: NGHTTP2_NV_FLAG_NO_INDEX)
          }
          return body(UnsafeMutableBufferPointer(rebasing: fields[0..<count]))
        }
      }
    }

    private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
  }
#endif

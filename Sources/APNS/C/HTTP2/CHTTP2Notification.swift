import CAPNS

/// Takes a notification into a session over HTTP/2.
func takeHTTP2(
  _ session: UnsafeMutablePointer<HTTP2Session<TLSNetwork, ProviderToken>>,
  _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer,
  isBuilt: Bool = false
) throws(Failure) -> UInt32 {
  let push = try HTTP2Request(
    given, payload: payload, payloadMax: session.pointee.options.payloadMax,
    topic: session.pointee.defaults.topic, topicCount: session.pointee.defaults.topicCount,
    needsTopic: session.pointee.tokens != nil)
  if session.pointee.options.checks != 0 {
    try check(given, payload: isBuilt ? nil : payload, session.pointee.options)
  }
  return try session.pointee.take(push, userData: given.pointee.user_data)
}

/// The same with a builder's payload. It is read once before it is taken, to find the push type.
func takeHTTP2(
  _ session: UnsafeMutablePointer<HTTP2Session<TLSNetwork, ProviderToken>>,
  _ given: UnsafePointer<apns_notification_t>,
  _ builder: UnsafeMutablePointer<PayloadBuilder>, _ plan: PayloadBuilder.Plan
) throws(Failure) -> UInt32 {
  guard plan.size <= session.pointee.options.payloadMax else {
    throw refusal(of: given, payloadMax: session.pointee.options.payloadMax)
  }
  let draft = try session.pointee.roomForDraft()
  builder.pointee.write(plan, to: draft)
  return try takeHTTP2(
    session, given, payload: UnsafeRawBufferPointer(start: draft, count: plan.size),
    isBuilt: true)
}

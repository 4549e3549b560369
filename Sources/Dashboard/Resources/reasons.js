// Explains Apple's reasons for a rejection, with remedies.

const HTTP2 = {
  BadChannelId: "The apns-channel-id header is not the base64 that the service gave for the channel.",
  BadCollapseId: "The collapse identifier is longer than 64 bytes.",
  BadDeviceToken: "The device token is not valid at this service. It may belong to the other one: sandbox or production.",
  BadExpirationDate: "The apns-expiration header is not a time in UNIX seconds. A broadcast needs it, and 0 if its channel stores nothing.",
  BadMessageId: "The apns-id header is not a UUID.",
  BadPriority: "The apns-priority header is not 10, 5 or 1.",
  BadTopic: "No app has this topic.",
  CannotCreateChannelConfig: "The app has the maximum number of channels: delete some.",
  ChannelNotRegistered: "The channel does not exist for this app and environment: create one, or list the existing ones.",
  DeviceTokenNotForTopic: "The device token belongs to another app, or to another kind of push: push to it with its topic.",
  DuplicateHeaders: "A header came twice.",
  IdleTimeout: "The connection was idle for too long.",
  FeatureNotEnabled: "Broadcasts are not enabled for this app.",
  InvalidPushType: "The apns-push-type header does not fit the topic, or is not one of Apple's push types; for broadcasts it is liveactivity.",
  MissingChannelId: "The request has no apns-channel-id header.",
  MissingDeviceToken: "The path has no device token.",
  MissingPushType: "A broadcast needs the apns-push-type header, liveactivity.",
  MissingTopic: "The topic is missing, and the certificate is for several apps: send the apns-topic header.",
  PayloadEmpty: "The request has no payload, or it is a broadcast that starts a Live Activity, which is not possible.",
  TopicMismatch: "The bundle ID belongs to another app, or differs from the app's in capitals.",
  TopicDisallowed: "This provider may not push to this app.",
  BadCertificate: "The service does not accept the client certificate.",
  BadCertificateEnvironment: "The certificate is for the other service: sandbox or production.",
  BadEnvironmentKeyIdInToken: "The provider token's key is for the other service: sandbox or production.",
  ExpiredProviderToken: "The provider token is more than an hour old: sign a new one, and check the clock.",
  Forbidden: "This provider may not push.",
  InvalidProviderToken: "The provider token cannot be verified: the key, its ID and the team do not belong together.",
  MissingProviderToken: "The provider sent neither a certificate nor a provider token.",
  UnrelatedKeyIdInToken: "The connection began with tokens signed with another key: use one key per connection.",
  BadPath: "The path is neither /3/device/ with a device token nor /4/broadcasts/apps/ with an app.",
  MethodNotAllowed: "The method is not POST.",
  ExpiredToken: "The device token has expired: stop pushing to it until the app sends a new one.",
  Unregistered: "The app is no longer on the device: stop pushing to this token.",
  PayloadTooLarge: "The payload is larger than 4,096 bytes, or 5,120 for VoIP and broadcasts.",
  TooManyProviderTokenUpdates: "The provider token changed too often: use each for at least 20 minutes.",
  TooManyRequests: "Too much was pushed to this device: wait, and push less often to it.",
  InternalServerError: "The service failed: try again later.",
  ServiceUnavailable: "The service is not available: try again later.",
  Shutdown: "The service is shutting down: reconnect and resend.",
};

const BINARY = {
  1: "The gateway failed to process this notification: resend it.",
  2: "The frame has no device token.",
  3: "The client certificate has no topic.",
  4: "The frame has no payload.",
  5: "The device token has the wrong length.",
  6: "The topic has the wrong length.",
  7: "The payload is too large.",
  8: "The device token is not valid at this gateway: stop pushing to it. It may belong to the other one: sandbox or production.",
  10: "The gateway is shutting down. It accepted everything up to this notification: reconnect and resend the later ones.",
  128: "The frame is not valid: a length or an item in it is wrong.",
  255: "The gateway gives no reason.",
};

const OUTCOMES = {
  discarded: "It came after a notification that ended the connection, so the gateway never read it: resend it.",
  ignored: "The gateway did not answer it.",
};

/** One sentence; "" without an explanation. */
export function meaning({ protocol, outcome, status, reason }) {
  if (outcome !== "rejected") return OUTCOMES[outcome] ?? "";
  const words = protocol === "http2" ? HTTP2 : BINARY;
  const key = protocol === "http2" ? reason : status;
  return Object.hasOwn(words, key) ? words[key] : "";
}

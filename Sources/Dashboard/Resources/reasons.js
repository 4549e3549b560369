// What a refusal means and what to do about it, for those who do not know Apple's words by heart.

const HTTP2 = {
  BadCollapseId: "The collapse identifier is longer than 64 bytes.",
  BadDeviceToken: "The device token is none of this service's. It may be of the other one: sandbox or production.",
  BadExpirationDate: "The apns-expiration header is not a time in UNIX seconds.",
  BadMessageId: "The apns-id header is not a UUID.",
  BadPriority: "The apns-priority header is not 10, 5 or 1.",
  BadTopic: "There is no app of this topic.",
  DeviceTokenNotForTopic: "The device token is another app's: push to it with that app's topic.",
  DuplicateHeaders: "A header came twice.",
  IdleTimeout: "The connection was silent for too long.",
  InvalidPushType: "The apns-push-type header is none of Apple's.",
  MissingDeviceToken: "The path names no device token.",
  MissingTopic: "No app is named, and the certificate is for several: send the apns-topic header.",
  PayloadEmpty: "The request has no payload.",
  TopicDisallowed: "This provider may not push to this app.",
  BadCertificate: "The service does not take the client certificate.",
  BadCertificateEnvironment: "The certificate is for the other service: sandbox or production.",
  BadEnvironmentKeyIdInToken: "The provider token's key is for the other service: sandbox or production.",
  ExpiredProviderToken: "The provider token is more than an hour old: sign a new one, and look at the clock.",
  Forbidden: "The service does not let this provider push.",
  InvalidProviderToken: "The provider token cannot be verified: key, key identifier and team do not belong together.",
  MissingProviderToken: "The provider showed neither a certificate nor a provider token.",
  UnrelatedKeyIdInToken: "The connection began with tokens of another key: use one key for each connection.",
  BadPath: "The path is not /3/device/ and a device token.",
  MethodNotAllowed: "The method is not POST.",
  ExpiredToken: "The device token has expired: stop pushing to it until the app sends a new one.",
  Unregistered: "The app is no longer on the device: stop pushing to this token.",
  PayloadTooLarge: "The payload is larger than 4,096 bytes, or 5,120 for VoIP.",
  TooManyProviderTokenUpdates: "The provider token changed too often: use each for at least 20 minutes.",
  TooManyRequests: "Too much was pushed to this device: wait, and push less often to it.",
  InternalServerError: "The service failed: try again later.",
  ServiceUnavailable: "The service is not available: try again later.",
  Shutdown: "The service shuts down: connect anew and send again.",
};

const BINARY = {
  1: "The gateway failed at this notification: send it again.",
  2: "The frame has no device token.",
  3: "The client certificate names no topic.",
  4: "The frame has no payload.",
  5: "The device token has the wrong length.",
  6: "The topic has the wrong length.",
  7: "The payload is too large.",
  8: "The device token is none of this gateway's: stop pushing to it. It may be of the other one: sandbox or production.",
  10: "The gateway shuts down. All up to this notification was taken: connect anew and send those after it again.",
  128: "The frame is no frame: a length or an item in it is wrong.",
  255: "The gateway does not say why.",
};

const FATES = {
  discarded: "It came behind a notification that ended the connection, so the gateway never looked at it: send it again.",
  ignored: "The gateway gave no answer to it.",
};

/** One sentence, or "" where there is nothing to explain. */
export function meaning({ protocol, fate, status, reason }) {
  if (fate !== "rejected") return FATES[fate] ?? "";
  const words = protocol === "http2" ? HTTP2 : BINARY;
  const key = protocol === "http2" ? reason : status;
  return Object.hasOwn(words, key) ? words[key] : "";
}

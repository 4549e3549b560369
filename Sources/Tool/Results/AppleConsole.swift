/// Apple's Push Notifications Console, which shows the delivery of a notification.
enum AppleConsole {
  static let address = "https://icloud.developer.apple.com/dashboard/notifications"
}

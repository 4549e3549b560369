/// Apple's Push Notifications Console, which shows what became of a notification.
enum AppleConsole {
  static let address = "https://icloud.developer.apple.com/dashboard/notifications"
}

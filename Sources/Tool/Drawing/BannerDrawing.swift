/// Draws a push in a terminal like a device's banner.
struct BannerDrawing {
  var app: String

  private let width: Int
  private let frame: (corner: [String], across: String, down: String)

  init(app: String) {
    self.app = app
    width = min(54, max(24, (Terminal.columns(of: .output) ?? 80) - 6))
    frame =
      Terminal.hasUnicode
      ? (["╭", "╮", "╰", "╯"], "─", "│") : (["+", "+", "+", "+"], "-", "|")
  }

  func drawn(_ push: ShownPush) -> String {
    var text = ""
    if push.title != nil || push.subtitle != nil || push.body != nil {
      let bar = String(repeating: frame.across, count: width + 2)
      let badge = push.badge.flatMap { $0 > 0 ? "(\($0)) " : nil } ?? ""
      let name = "\(badge)\(Printable.line(app))"
      text += frame.corner[0] + bar + frame.corner[1] + "\n"
      text += row(name + spaces(width - Printable.width(name) - 3) + "now")
      for part in [push.title, push.subtitle, push.body] {
        guard let part else { continue }
        for line in lines(part) { text += row(line) }
      }
      text += frame.corner[2] + bar + frame.corner[3] + "\n"
    }
    if push.isSilent {
      text += push.wakesApp ? "No banner: the app is woken\n" : "No banner\n"
    } else if push.wakesApp {
      text += "The app is also woken\n"
    }
    if let badge = push.badge {
      text += badge == 0 ? "The badge is removed\n" : "Badge \(badge)\n"
    }
    if let sound = push.sound {
      text += "Sound \(Printable.line(sound))\(push.isCritical ? ", critical" : "")\n"
    } else if !push.isSilent {
      text += "No sound\n"
    }
    for note in push.notes {
      text += Printable.line(note).prefix(1).uppercased() + Printable.line(note).dropFirst() + "\n"
    }
    for key in push.missing {
      text += "Shown as the key, which is missing in the strings: \(Printable.line(key))\n"
    }
    return text
  }

  private func row(_ text: String) -> String {
    "\(frame.down) \(text)\(spaces(width - Printable.width(text))) \(frame.down)\n"
  }

  private func spaces(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }

  /// Breaks lines at spaces, and overlong words anywhere.
  private func lines(_ text: String) -> [String] {
    var lines: [String] = []
    for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
      var line = ""
      var used = 0
      for word in Printable.line(String(paragraph)).split(
        separator: " ", omittingEmptySubsequences: false)
      {
        var word = String(word)
        if used > 0, used + 1 + Printable.width(word) > width {
          lines.append(line)
          (line, used) = ("", 0)
        }
        if used > 0 || !line.isEmpty { (line, used) = (line + " ", used + 1) }
        while Printable.width(word) > width {
          var head = ""
          while Printable.width(head) + Printable.width(word.first!) <= width {
            head.append(word.removeFirst())
          }
          lines.append(head)
        }
        line += word
        used += Printable.width(word)
      }
      lines.append(line)
    }
    return lines
  }
}

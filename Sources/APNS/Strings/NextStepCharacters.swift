/// The character set of NeXTSTEP. Apple's parser still reads octal escapes in it.
enum NextStepCharacters {
  /// The characters from 0x80 to 0xFD. Each takes two or three bytes.
  private static var upperHalf: StaticString {
    "\u{A0}ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖÙÚÛÜÝÞµ×÷©¡¢£⁄¥ƒ§¤’“«‹›ﬁﬂ®–†‡·¦¶•‚„”»…‰¬¿¹ˋ´ˆ˜¯˘˙¨²˚¸³˝˛ˇ—±¼½¾àáâãäåçèéêëìÆíªîïðñŁØŒºòóôõöæùúûıüýłøœßþÿ"
  }

  /// Nil if the set does not have the character.
  static func unicode(_ code: UInt32) -> UInt32? {
    if code < 0x80 { return code }
    let text = upperHalf
    var left = code &- 0x80
    for index in 0..<text.utf8CodeUnitCount {
      let lead = UInt32(text.utf8Start[index])
      if lead & 0xC0 == 0x80 { continue }
      if left > 0 {
        left &-= 1
        continue
      }
      let second = UInt32(text.utf8Start[index &+ 1]) & 0x3F
      if lead < 0xE0 { return (lead & 0x1F) &<< 6 | second }
      return (lead & 0xF) &<< 12 | second &<< 6 | UInt32(text.utf8Start[index &+ 2]) & 0x3F
    }
    return nil
  }
}

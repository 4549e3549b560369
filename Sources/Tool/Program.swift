import ArgumentParser

@main
enum Program {
  static func main() async {
    // Swift reads the arguments there. Without them the tool would print the help and succeed.
    if CommandLine.arguments.isEmpty {
      Exit.end(with: Exit.refusal("the arguments cannot be read: /proc is not mounted here"))
    }
    // Otherwise the parser would only report an unexpected argument.
    if let fault = CommandNames.fault(in: CommandLine.arguments.dropFirst()) {
      let status = Exit.refusal(fault)
      StandardStream.error.write("  See 'apns --help' for more information.\n")
      Exit.end(with: status)
    }
    let defaults: DefaultOptions
    do throws(FileFault) {
      defaults = try DefaultOptions(completing: Array(CommandLine.arguments.dropFirst()))
    } catch {
      Exit.end(with: Exit.refusal("\(error)"))
    }
    if let fault = FileArguments.fault(in: defaults.arguments[...]) {
      Exit.end(with: Exit.refusal(fault))
    }
    do {
      var command = try APNSCommand.parseAsRoot(defaults.arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      let status = APNSCommand.exitCode(for: error)
      var message = APNSCommand.fullMessage(for: error)
      if status == .validationFailure, !defaults.sources.isEmpty {
        message += "\n  Not typed: \(Printable.line(defaults.sources.joined(separator: ", ")))"
      }
      if !message.isEmpty {
        (status == .success ? StandardStream.output : .error).write(message + "\n")
      }
      Exit.end(with: status == .validationFailure ? Exit.usage : status)
    }
  }
}

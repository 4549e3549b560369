import ArgumentParser

@main
enum Program {
  static func main() async {
    // Swift reads the arguments there. Without them the tool would print the help and succeed.
    if CommandLine.arguments.isEmpty {
      Exit.end(with: Exit.refusal("the arguments cannot be read: /proc is not mounted here"))
    }
    if SimulatorProgram.isCalled {
      let typed = Array(CommandLine.arguments.dropFirst())
      return await run(Simulate.self, SimulatorProgram.arguments(typed: typed))
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
    await run(APNSCommand.self, defaults.arguments, notTyped: defaults.sources)
  }

  private static func run(
    _ root: any ParsableCommand.Type, _ arguments: [String], notTyped: [String] = []
  ) async {
    do {
      var command = try root.parseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      let status = root.exitCode(for: error)
      var message = root.fullMessage(for: error)
      if status == .validationFailure, !notTyped.isEmpty {
        message += "\n  Not typed: \(Printable.line(notTyped.joined(separator: ", ")))"
      }
      if !message.isEmpty {
        (status == .success ? StandardStream.output : .error).write(message + "\n")
      }
      Exit.end(with: status == .validationFailure ? Exit.usage : status)
    }
  }
}

import ArgumentParser
import CommandOptions

extension CompletionShell: @retroactive ExpressibleByArgument {}

struct Completions: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a script that lets a shell complete commands and options.",
    discussion: """
      For the current shell:

          source <(apns completions bash)

      For every bash, zsh or fish of this user:

          mkdir -p ~/.local/share/bash-completion/completions
          apns completions bash > ~/.local/share/bash-completion/completions/apns

          mkdir -p ~/.zfunc
          apns completions zsh > ~/.zfunc/_apns

          mkdir -p ~/.config/fish/completions
          apns completions fish > ~/.config/fish/completions/apns.fish

      zsh also needs "fpath+=(~/.zfunc)" before "compinit" in ~/.zshrc.

      \(Exit.ofPrinting)
      """)

  @Argument(help: .of("shell", "bash, zsh or fish."))
  var shell: CompletionShell

  func run() {
    StandardStream.output.write(APNSCommand.completionScript(for: shell) + "\n")
  }
}

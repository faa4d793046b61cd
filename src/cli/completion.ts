import { type Command, mistyped, type Option } from './command.ts'

/** What may follow each beginning of a command line: the next words of commands, or the options of a whole command. */
function choicesOf(commands: readonly Command[], common: readonly Option[]): ReadonlyMap<string, readonly string[]> {
  const choices = new Map<string, Set<string>>()
  const add = (after: string, choice: string) => choices.set(after, (choices.get(after) ?? new Set()).add(choice))
  for (const { name, options } of commands) {
    const parts = name.split(' ')
    for (const [index, part] of parts.entries()) add(parts.slice(0, index).join(' '), part)
    for (const { flag } of [...options, ...common]) add(name, `--${flag}`)
  }
  return new Map([...choices].map(([after, each]) => [after, [...each].toSorted()]))
}

/** The longest known beginning decides, so that arguments may follow a command. */
const scripts = {
  bash: (cases: string) => `_turnpike() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD-1}") count line
  for ((count = \${#words[@]}; count >= 0; count--)); do
    line="\${words[*]:0:count}"
    case "$line" in
${cases}
    *) continue ;;
    esac
    COMPREPLY=($(compgen -W "$found" -- "\${COMP_WORDS[COMP_CWORD]}"))
    return
  done
}
complete -o default -F _turnpike turnpike`,
  zsh: (cases: string) => `#compdef turnpike
_turnpike() {
  local count line found
  for ((count = CURRENT - 2; count >= 0; count--)); do
    line="\${(j: :)words[2,count+1]}"
    case "$line" in
${cases}
    *) continue ;;
    esac
    compadd -- \${=found}
    return
  done
}
compdef _turnpike turnpike`,
}

export const completionCommand = (all: () => readonly Command[], common: readonly Option[]): Command => ({
  name: 'completion',
  summary: 'Print a script that completes commands and options in bash or zsh: source <(turnpike completion bash).',
  takes: [{ name: 'SHELL', meaning: Object.keys(scripts).join(' or ') }],
  options: [],
  async run({ args: [shell = ''] }) {
    if (shell !== 'bash' && shell !== 'zsh') throw mistyped('SHELL is bash or zsh.')
    const cases = [...choicesOf(all(), common)].map(([after, each]) => `    '${after}') found='${each.join(' ')}' ;;`)
    const script = scripts[shell](cases.join('\n'))
    return { json: { script }, lines: [script] }
  },
})

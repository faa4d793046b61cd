import type { Machine } from './empty-debian.ts'
import { commandsIn, patternOf, type Typed, typedIn } from './pages.ts'
import { expectMatch } from './steps.ts'

/** Placeholders of a page and the values that replace them. */
type Own = Readonly<Record<string, string>>

/** Runs the commands of pages on the machines that they name. */
export type Reader = {
  /**
   * Runs the commands of a fence in order and compares their output with the page. The replacements may depend on the
   * output so far.
   */
  follow(page: string, part: string, own?: Own | ((printed: string) => Own)): Promise<string>
  /** Runs commands for any machine on the server, in one shell. */
  type(page: string, parts: readonly string[], own?: Own): Promise<string>
}

/** `machines` are keyed by the host name in their prompts; `own` applies to every page. */
export function createReader(machines: Readonly<Record<string, Machine>>, own: Record<string, string>): Reader {
  const fill = (text: string, more: Own): string =>
    Object.entries({ ...own, ...more }).reduce((filled, [from, to]) => filled.replaceAll(from, to), text)
  const on = (name: string): Machine => {
    const machine = machines[name]
    if (!machine) throw new Error(`there is no machine called  ${name}`)
    return machine
  }
  async function runOne({ on: name, text, shown }: Typed, more: Own): Promise<string> {
    const line = fill(text, more)
    const isRefused = shown.some((each) => each.startsWith('turnpike: '))
    // A command that the page shows as refused must fail.
    const printed = await on(name)
      .sh(`cd /root\n${isRefused ? `! ${line}` : line}`)
      .catch(async (error: unknown) => {
        // Services report errors in the journal.
        const log = await on(name).sh(`journalctl --unit 'turnpike*' --lines 25 --output cat`)
        throw new Error(`${String(error)}\n${log}`)
      })
    for (const each of shown) expectMatch(line, printed, patternOf(fill(each, more)))
    return printed
  }
  return {
    async follow(page, part, more = {}) {
      let printed = ''
      for (const typed of await typedIn(page, part)) {
        printed += await runOne(typed, typeof more === 'function' ? more(printed) : more)
      }
      return printed
    },
    async type(page, parts, more = {}) {
      const lines = (await commandsIn(page, ...parts)).map((line) => fill(line, more))
      return on('server').sh(['cd /root', ...lines].join('\n'))
    },
  }
}

import type { Machine } from './empty-debian.ts'
import { commandsIn, patternOf, type Typed, typedIn } from './pages.ts'
import { expectTold } from './steps.ts'

/** What stands in a page for something of the reader's own, and what that is. */
type Own = Readonly<Record<string, string>>

/** Somebody who follows the pages, on the machines that they name. */
export type Reader = {
  /**
   * Types the commands of a fence one after the other, and compares what they print with what the page shows. What is
   * the reader's own may hang on what was printed so far.
   */
  follow(page: string, words: string, own?: Own | ((printed: string) => Own)): Promise<string>
  /** Types commands that are for any machine on the first, in one shell. */
  type(page: string, words: readonly string[], own?: Own): Promise<string>
}

/** `machines` are by the name that their prompts have; `own` holds for every page. */
export function createReader(machines: Readonly<Record<string, Machine>>, own: Record<string, string>): Reader {
  const fill = (text: string, more: Own): string =>
    Object.entries({ ...own, ...more }).reduce((filled, [from, to]) => filled.replaceAll(from, to), text)
  const on = (name: string): Machine => {
    const machine = machines[name]
    if (!machine) throw new Error(`nobody has a machine called ${name}`)
    return machine
  }
  async function typeOne({ on: name, text, shown }: Typed, more: Own): Promise<string> {
    const line = fill(text, more)
    const wrong = shown.some((each) => each.startsWith('turnpike: '))
    // What the page shows to be refused has to be.
    const printed = await on(name)
      .sh(`cd /root\n${wrong ? `! ${line}` : line}`)
      .catch(async (error: unknown) => {
        // Services say what is wrong in their log.
        const log = await on(name).sh(`journalctl --unit 'turnpike*' --lines 25 --output cat`)
        throw new Error(`${String(error)}\n${log}`)
      })
    for (const each of shown) expectTold(line, printed, patternOf(fill(each, more)))
    return printed
  }
  return {
    async follow(page, words, more = {}) {
      let printed = ''
      for (const typed of await typedIn(page, words)) {
        printed += await typeOne(typed, typeof more === 'function' ? more(printed) : more)
      }
      return printed
    },
    async type(page, words, more = {}) {
      const lines = (await commandsIn(page, ...words)).map((line) => fill(line, more))
      return on('server').sh(['cd /root', ...lines].join('\n'))
    },
  }
}

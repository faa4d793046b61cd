import type { Command } from '../../cli/command.ts'
import { configOf } from '../process.ts'
import { lookAtThisMachine } from './machine.ts'
import { lookAtShop } from './shop.ts'

const marks = { ok: 'ok   ', note: 'NOTE ', wrong: 'WRONG' } as const

export const doctorCommand: Command = {
  name: 'doctor',
  summary:
    'Looks at everything that a shop or a node depends on, and says what to do; ends with 1 if something is wrong.',
  takes: [],
  options: [],
  async run(given) {
    const config = configOf(given)
    const all = [...(await lookAtShop(config)), ...(await lookAtThisMachine(config))]
    const bad = all.filter((each) => each.state === 'wrong').length
    return {
      json: { ok: bad === 0, advice: all },
      lines: [
        ...all.flatMap(({ of, state, says, todo }) => [
          `${marks[state]}  ${of}: ${says.replace(/\.$/, '')}.`,
          ...(todo === '' ? [] : [`         ${todo.replace(/\.$/, '')}.`]),
        ]),
        bad === 0 ? 'Nothing needs you.' : `${bad} ${bad === 1 ? 'thing needs' : 'things need'} you.`,
      ],
      exit: bad === 0 ? 0 : 1,
    }
  },
}

import type { Events } from '../domains/events/index.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, table } from './command.ts'
import { customerWord, type Opened, readCustomer, readWhole } from './typed.ts'

export function eventCommands(open: Opened<{ events: Events }>): readonly Command[] {
  return [
    {
      name: 'event list',
      operation: 'listCustomerEvents',
      summary: 'Lists what a customer was told of his things, oldest first; it is kept for 30 days.',
      takes: [customerWord],
      options: [
        { flag: 'after', value: 'N', meaning: 'begin after this one' },
        { flag: 'type', value: 'TYPE', meaning: 'of one type, such as proxy.replaced' },
        { flag: 'limit', value: 'N', meaning: 'how many, 1 to 500; 100 unless said' },
      ],
      run: (given) =>
        open(given, async ({ events }) => {
          const found = await events.list(readCustomer(given.words[0]), {
            after: readWhole(given, 'after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER }),
            type: given.flags['type'],
            limit: readWhole(given, 'limit', 100, { min: 1, max: 500 }),
          })
          return {
            json: found.map((event) => ({
              id: event.seq,
              type: event.type,
              timestamp: toIso(event.at),
              order_id: event.order,
              data: event.data,
            })),
            lines: table(
              ['EVENT', 'AT', 'TYPE', 'WHAT'],
              found.map((event) => [
                String(event.seq),
                toIso(event.at),
                event.type,
                Object.entries(event.data)
                  .map(([name, value]) => `${name}=${value ?? ''}`)
                  .join(' '),
              ]),
            ),
          }
        }),
    },
  ]
}

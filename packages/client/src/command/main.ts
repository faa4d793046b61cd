#!/usr/bin/env node
import { readFile, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { type Client, createClient, follow, listen, TurnpikeError } from '../index.ts'
import { type Command, readCommand, readTyped, rows, type Typed, toVerb, UsageError } from './arguments.ts'
import { toLines } from './print.ts'

const help = `turnpike-client: buys and manages proxies and VPN of a Turnpike shop.

  balance                                      read the balance
  quote dedicated DE --count 2                 what a purchase would cost
  buy dedicated DE --count 2 --period 30       shows the price, asks, buys
  buy premium residential --gb 5               traffic
  vpn buy --period 1                           a VPN subscription
  list dedicated                               every page of a list
  events --follow                              events as they happen, one JSON text a line
  listen --to http://127.0.0.1:3000/hook       forwards events as webhooks
  help                                         every operation and its fields

  --json              prints the answer as JSON
  --yes               buys without asking; needed where no terminal is
  --max-price ROUBLES refuses a higher price
  --key KEY           Idempotency-Key: a repeat with the same key buys nothing more
  --after ID          of events and listen: continues after this event
  --cursor-file FILE  of listen: keeps the last delivered event
  --secret whsec_…    of listen: signs messages as the shop signs webhooks

Environment: TURNPIKE_URL (the shop's address), TURNPIKE_TOKEN.
`

const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`)
type Method = (input: object, options: object) => Promise<unknown> & AsyncIterable<unknown>

/** The method of a client by the names of a command, which are those of the generated table. */
const methodOf = (client: Client, group: string, method: string): Method =>
  (client as unknown as Record<string, Record<string, Method>>)[group]?.[method] as Method

/** The method that prices each one that charges. Another price than the quoted one is refused by `max_price_rub`. */
const quotes: Readonly<Record<string, string>> = {
  'dedicated.buy': 'quote',
  'dedicated.prolong': 'quoteProlonging',
  'premium.buyTraffic': 'quoteTraffic',
  'vpn.buy': 'quote',
  'vpn.renew': 'quote',
  'vpn.increaseDevices': 'quoteSlots',
}

/** What a purchase would cost: the quote, and its price. */
async function quote(client: Client, { group, method, input }: Command): Promise<{ lines: string[]; price: number }> {
  const name = quotes[`${group}.${method}`]
  if (name === undefined) throw new UsageError('this has no quote: add --yes, and --max-price to limit it')
  const fields = rows[group]?.[name]?.fields ?? {}
  const asked = Object.fromEntries(Object.entries(input).filter(([field]) => Object.hasOwn(fields, field)))
  const answer = (await methodOf(client, group, name)(asked, {})) as Readonly<Record<string, unknown>>
  const price = answer['total_price_rub'] ?? answer['price_rub']
  if (typeof price !== 'number') throw new UsageError('the shop gave no price for this; name every field')
  return { lines: toLines(answer), price }
}

/** The limit of a purchase: the price that was shown and confirmed. */
async function confirm(client: Client, command: Command, { options }: Typed): Promise<Command> {
  if (!command.row.charges || options['yes'] !== undefined) return command
  if (!process.stdin.isTTY) throw new UsageError('this charges money: add --yes, and --max-price to limit it')
  const { lines, price } = await quote(client, command)
  process.stderr.write(`${lines.join('\n')}\n`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`Buy for ${price} RUB? [y/N] `)
  terminal.close()
  if (!/^(?:y|yes|д|да)$/i.test(answer.trim())) throw new UsageError('nothing was bought')
  return { ...command, input: { max_price_rub: price, ...command.input } }
}

async function runOperation(client: Client, typed: Typed): Promise<void> {
  const command = await confirm(client, readCommand(typed), typed)
  const { group, method, input } = command
  const isJson = typed.options['json'] !== undefined
  const all = method.startsWith('list') && input['limit'] === undefined && input['cursor'] === undefined
  const iterator = all ? methodOf(client, group, method.replace(/^list/, 'all')) : undefined
  if (iterator) {
    const items: unknown[] = []
    for await (const item of iterator(input, {})) items.push(item)
    print(isJson ? [JSON.stringify(items)] : items.length === 0 ? ['none'] : toLines({ items }))
    return
  }
  const answer = await methodOf(client, group, method)(input, { idempotencyKey: typed.options['key'] })
  print(isJson ? [JSON.stringify(answer)] : toLines(answer))
}

function afterOf({ options }: Typed): number | undefined {
  const { after } = options
  if (after !== undefined && !/^\d{1,15}$/.test(after)) throw new UsageError('--after is the id of an event')
  return after === undefined ? undefined : Number(after)
}

async function runListen(client: Client, typed: Typed, signal: AbortSignal): Promise<void> {
  const { to, secret, 'cursor-file': file } = typed.options
  if (to === undefined || !URL.canParse(to)) throw new UsageError('listen needs --to http://127.0.0.1:PORT/PATH')
  const load = async (path: string): Promise<number | undefined> => {
    const text = (await readFile(path, 'utf8').catch(() => '')).trim()
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined
  }
  const cursor = file && { load: () => load(file), save: (id: number) => writeFile(file, `${id}\n`) }
  const note = (line: string): void => void process.stderr.write(`${line}\n`)
  // A query or a login of the address may be secret.
  const { origin, pathname } = new URL(to)
  note(`forwarding to ${origin}${pathname}`)
  await listen(client, to, {
    after: afterOf(typed),
    signal,
    secret,
    ...(cursor && { cursor }),
    onDelivered: ({ id, type }, status) => print([`${id} ${type} ${status}`]),
    onFailed: ({ id }, status, pauseMs) => note(`event ${id}: ${status ?? 'no answer'}, again in ${pauseMs / 1000} s`),
  })
}

async function run(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const typed = readTyped(argv)
  const [first = 'help'] = typed.words
  if (first === 'help' || typed.options['help'] !== undefined) return print([help, ...describeOperations()])
  const { TURNPIKE_URL: url, TURNPIKE_TOKEN: token } = env
  if (!url || !token) throw new UsageError('set TURNPIKE_URL and TURNPIKE_TOKEN')
  const client = createClient({ url, token, language: env['LANG']?.startsWith('ru') ? 'ru' : 'en' })
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())
  if (first === 'listen') return runListen(client, typed, ending.signal)
  if (first !== 'events' || typed.options['follow'] === undefined) return runOperation(client, typed)
  for await (const event of follow(client, { after: afterOf(typed), signal: ending.signal })) {
    print([JSON.stringify(event)])
  }
}

const describeOperations = (): string[] =>
  Object.entries(rows).flatMap(([group, methods]) =>
    Object.entries(methods).map(([name, { summary, fields }]) => {
      const options = Object.keys(fields).map((field) => ` --${field.replaceAll('_', '-')}`)
      return `${group} ${toVerb(name)}${options.join('')}\n    ${summary}`
    }),
  )

// A reader such as `head` closes the pipe when it has enough: the operation itself has ended.
process.stdout.on('error', (error) => {
  if (!('code' in error) || error.code !== 'EPIPE') throw error
  process.exit()
})

try {
  await run(process.argv.slice(2), process.env)
} catch (error) {
  const isUsage = error instanceof UsageError
  if (!isUsage && !(error instanceof TurnpikeError) && !(error instanceof TypeError)) throw error
  process.stderr.write(`${isUsage || error instanceof Error ? error.message : ''}\n`)
  process.exitCode = isUsage ? 2 : 1
}

import type { Customers, TokenWish } from '../domains/customers/index.ts'
import { allScopes, type Customer, type Scope, type Token } from '../domains/customers/rules.ts'
import type { Ledger } from '../domains/ledger/index.ts'
import { formatPrefix, type Prefix, readPrefix } from '../kernel/address.ts'
import { type CustomerId, readId } from '../kernel/ids.ts'
import { readRoubles, toRoubles, toRoubleText } from '../kernel/money.ts'
import { readIso, toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, table } from './command.ts'
import { customerWord, type Opened, readCustomer, readWhole } from './typed.ts'

type Deps = {
  customers: Customers
  ledger: Ledger
  setBlocked: (id: CustomerId, blocked: boolean) => Promise<void>
}

const namePattern = /^[^\p{Cc}\p{Cs}]{1,200}$/u

export function customerCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'customer create',
      operation: 'createCustomer',
      summary: 'Adds a customer with an empty account.',
      takes: [{ name: 'NAME', meaning: 'how you call the customer, up to 200 characters' }],
      options: [],
      run: (given) =>
        open(given, async ({ customers }) => {
          const customer = await customers.create(readName(given.words[0]))
          return { json: toJson(customer), lines: [`${customer.id}  ${customer.name}`] }
        }),
    },
    {
      name: 'customer list',
      operation: 'listCustomers',
      summary: 'Lists customers and their balances, oldest first.',
      takes: [],
      options: [
        { flag: 'limit', value: 'N', meaning: 'how many, 1 to 10000; 100 unless said' },
        { flag: 'after', value: 'CUSTOMER', meaning: 'begin after this one' },
      ],
      run: (given) =>
        open(given, async ({ customers, ledger }) => {
          const limit = readWhole(given, 'limit', 100, { min: 1, max: 10_000 })
          const found = await customers.list(given.flags['after'] ?? '', limit)
          const rows = await Promise.all(
            found.map(async (customer) => ({ customer, balance: (await ledger.balance(customer.id)).balance })),
          )
          return {
            json: rows.map(({ customer, balance }) => ({ ...toJson(customer), balance_rub: toRoubles(balance) })),
            lines: table(
              ['CUSTOMER', 'BALANCE', 'STATE', 'NAME'],
              rows.map(({ customer, balance }) => [
                customer.id,
                toRoubleText(balance),
                customer.blockedAt === null ? 'open' : 'blocked',
                customer.name,
              ]),
            ),
          }
        }),
    },
    {
      name: 'customer block',
      operation: 'blockCustomer',
      summary: "Stops all of a customer's tokens, proxies and devices within a second; --undo lets them work again.",
      takes: [customerWord],
      options: [{ flag: 'undo', meaning: 'unblock' }],
      run: (given) =>
        open(given, async ({ setBlocked }) => {
          const id = readCustomer(given.words[0])
          const blocked = !given.has('undo')
          await setBlocked(id, blocked)
          return { json: { id, blocked }, lines: [`${id} is ${blocked ? 'blocked' : 'open'}.`] }
        }),
    },
  ]
}

export function tokenCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'token create',
      operation: 'createCustomerToken',
      summary: 'Makes an API token and shows it, this once.',
      takes: [customerWord],
      options: [
        { flag: 'name', value: 'NAME', meaning: 'what it is for' },
        {
          flag: 'scopes',
          value: 'LIST',
          meaning: 'of read, trade, pay and passwords, like read,trade; all unless said',
        },
        { flag: 'expires', value: 'TIME', meaning: 'an ISO date or moment in UTC after which it stops' },
        { flag: 'from', value: 'PREFIXES', meaning: 'addresses it may be used from, separated by commas' },
        { flag: 'cap', value: 'ROUBLES', meaning: 'the most it may spend in all' },
      ],
      run: (given) =>
        open(given, async ({ customers }) => {
          const { text, token } = await customers.issueToken(readCustomer(given.words[0]), readWish(given))
          return {
            json: { ...tokenJson(token), token: text },
            lines: [text, `This is the only time it is shown. Its id is ${token.id}.`],
          }
        }),
    },
    {
      name: 'token list',
      operation: 'listCustomerTokens',
      summary: "Lists a customer's tokens.",
      takes: [customerWord],
      options: [],
      run: (given) =>
        open(given, async ({ customers }) => {
          const id = readCustomer(given.words[0])
          await customers.load(id)
          const tokens = await customers.listTokens(id)
          return {
            json: tokens.map(tokenJson),
            lines: table(
              ['TOKEN', 'BEGINS', 'SCOPES', 'STATE', 'NAME'],
              tokens.map((token) => [token.id, token.hint, token.scopes.join(','), stateOf(token), token.name]),
            ),
          }
        }),
    },
    {
      name: 'token revoke',
      operation: 'revokeCustomerToken',
      summary: 'Stops a token within a second, for good.',
      takes: [{ name: 'TOKEN', meaning: "the token's id, tok_…" }],
      options: [],
      run: (given) =>
        open(given, async ({ customers }) => {
          const id = readId('token', given.words[0] ?? '')
          if (!id) throw mistyped('TOKEN is an id like tok_…, as "token list" shows it.')
          await customers.revokeToken(id)
          return { json: { id, revoked: true }, lines: [`${id} is revoked.`] }
        }),
    },
  ]
}

const toJson = (customer: Customer) => ({
  id: customer.id,
  name: customer.name,
  created_at: toIso(customer.createdAt),
  blocked_at: customer.blockedAt === null ? null : toIso(customer.blockedAt),
})

const tokenJson = (token: Token) => ({
  id: token.id,
  customer: token.customer,
  begins: token.hint,
  name: token.name,
  scopes: token.scopes,
  from: token.allowedFrom.map(formatPrefix),
  cap_rub: token.cap === null ? null : toRoubles(token.cap),
  created_at: toIso(token.createdAt),
  expires_at: token.expiresAt === null ? null : toIso(token.expiresAt),
  revoked_at: token.revokedAt === null ? null : toIso(token.revokedAt),
})

function stateOf(token: Token): string {
  if (token.revokedAt !== null) return `revoked ${toIso(token.revokedAt)}`
  return token.expiresAt === null ? 'open' : `until ${toIso(token.expiresAt)}`
}

function readWish(given: Given): TokenWish {
  const cap = given.flags['cap']
  const capKopecks = cap === undefined ? null : readRoubles(cap)
  if (capKopecks === undefined) throw mistyped('--cap is an amount of roubles like 1000 or 99.90.')
  const expires = given.flags['expires']
  const expiresAt = expires === undefined ? null : readIso(expires)
  if (expiresAt === undefined)
    throw mistyped('--expires is a date like 2027-01-31 or a moment like 2027-01-31T12:00:00Z.')
  return {
    name: given.flags['name'] === undefined ? 'token' : readName(given.flags['name']),
    scopes: readScopes(given.flags['scopes']),
    allowedFrom: readSources(given.flags['from']),
    cap: capKopecks,
    expiresAt,
  }
}

function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return allScopes
  const scopes = allScopes.filter((scope) => text.split(',').includes(scope))
  if (scopes.length === 0 || scopes.length !== text.split(',').length) {
    throw mistyped('--scopes is one or more of read, trade, pay and passwords, like read,trade.')
  }
  return scopes
}

function readSources(text: string | undefined): Prefix[] {
  return (text?.split(',') ?? []).map((part) => {
    const prefix = readPrefix(part.trim())
    if (!prefix) throw mistyped(`--from has "${part}", which is not an address or a prefix like 203.0.113.0/24.`)
    return prefix
  })
}

function readName(text = ''): string {
  if (!namePattern.test(text) || text.trim() === '') throw mistyped('A name is 1 to 200 printable characters.')
  return text
}

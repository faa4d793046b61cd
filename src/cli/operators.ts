import type { Operators } from '../domains/operators/index.ts'
import { type Operator, type Role, roles } from '../domains/operators/rules.ts'
import { readId } from '../kernel/ids.ts'
import { readIso, toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, type Outcome, table } from './command.ts'
import { type Opened, readWhole } from './typed.ts'

type Invited = { readonly operator: Operator; readonly text: string; readonly expiresAt: number }

type Deps = {
  operators: Operators
  /** Where operators reach the console. */
  shopUrl: string
  addOperator: (name: string, role: Role) => Promise<Invited>
  inviteOperator: (name: string) => Promise<Invited>
  setOperatorRole: (name: string, role: Role) => Promise<Operator>
  removeOperator: (name: string) => Promise<Operator>
}

const nameWord = { name: 'NAME', meaning: 'how the operator is called; he signs in with it' }
const roleOption = { flag: 'role', value: roles.join('|'), meaning: 'what he may do: all, deal with customers, look' }

export function operatorCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'operator add',
      operation: 'addOperator',
      summary: 'Adds an operator of the console, and shows the link that lets him in, once and within a day.',
      takes: [nameWord],
      options: [roleOption],
      run: (given) =>
        open(given, async ({ addOperator, shopUrl }) =>
          toInvited(await addOperator(given.words[0] ?? '', readRole(given)), shopUrl),
        ),
    },
    {
      name: 'operator list',
      operation: 'listOperators',
      summary: 'Lists operators and their roles.',
      takes: [],
      options: [],
      run: (given) =>
        open(given, async ({ operators }) => {
          const all = await operators.list()
          return {
            json: all.map(toJson),
            lines: table(
              ['NAME', 'ROLE', 'SINCE', 'OPERATOR'],
              all.map((each) => [each.name, each.role, toIso(each.createdAt), each.id]),
            ),
          }
        }),
    },
    {
      name: 'operator link',
      operation: 'linkOperator',
      summary: 'Makes a new link for an operator who cannot sign in.',
      takes: [nameWord],
      options: [],
      run: (given) =>
        open(given, async ({ inviteOperator, shopUrl }) =>
          toInvited(await inviteOperator(given.words[0] ?? ''), shopUrl),
        ),
    },
    {
      name: 'operator role',
      operation: 'setOperatorRole',
      summary: 'Gives an operator another role, within a second.',
      takes: [nameWord, { name: 'ROLE', meaning: roles.join(', ') }],
      options: [],
      run: (given) =>
        open(given, async ({ setOperatorRole }) => {
          const role = roles.find((each) => each === given.words[1])
          if (!role) throw mistyped(`ROLE is ${roles.join(', ')}.`)
          const operator = await setOperatorRole(given.words[0] ?? '', role)
          return { json: toJson(operator), lines: [`${operator.name} is ${operator.role}.`] }
        }),
    },
    {
      name: 'operator remove',
      operation: 'removeOperator',
      summary: 'Takes an operator out: his tokens and sessions end within a second.',
      takes: [nameWord],
      options: [],
      run: (given) =>
        open(given, async ({ removeOperator }) => {
          const { name } = await removeOperator(given.words[0] ?? '')
          return { json: { name, removed: true }, lines: [`${name} is out.`] }
        }),
    },
    ...tokenCommands(open),
    logCommand(open),
  ]
}

function tokenCommands(open: Opened<Deps>): readonly Command[] {
  return [
    {
      name: 'operator token',
      operation: 'createOperatorToken',
      summary: 'Makes a token for an operator, for programs, and shows it, this once.',
      takes: [nameWord],
      options: [
        { flag: 'name', value: 'TEXT', meaning: 'what it is for' },
        { flag: 'expires', value: 'TIME', meaning: 'an ISO date or moment in UTC after which it stops' },
      ],
      run: (given) =>
        open(given, async ({ operators }) => {
          const expires = given.flags['expires']
          const expiresAt = expires === undefined ? null : readIso(expires)
          if (expiresAt === undefined) throw mistyped('--expires is a date like 2027-01-31 or a moment.')
          const name = given.flags['name'] ?? 'token'
          if (!/^[^\p{Cc}\p{Cs}]{1,200}$/u.test(name)) throw mistyped('--name is 1 to 200 printable characters.')
          const { text, token } = await operators.issueToken(given.words[0] ?? '', { name, expiresAt })
          return {
            json: { id: token.id, operator: token.operator, token: text },
            lines: [text, `This is the only time it is shown. Its id is ${token.id}.`],
          }
        }),
    },
    {
      name: 'operator tokens',
      operation: 'listOperatorTokens',
      summary: "Lists an operator's tokens.",
      takes: [nameWord],
      options: [],
      run: (given) =>
        open(given, async ({ operators }) => {
          const tokens = await operators.listTokens(given.words[0] ?? '')
          const stateOf = (revokedAt: number | null): string => (revokedAt === null ? 'open' : 'revoked')
          return {
            json: tokens.map((each) => ({
              id: each.id,
              begins: each.hint,
              name: each.name,
              state: stateOf(each.revokedAt),
            })),
            lines: table(
              ['TOKEN', 'BEGINS', 'STATE', 'NAME'],
              tokens.map((each) => [each.id, each.hint, stateOf(each.revokedAt), each.name]),
            ),
          }
        }),
    },
    {
      name: 'operator revoke',
      operation: 'revokeOperatorToken',
      summary: "Stops an operator's token within a second, for good.",
      takes: [{ name: 'TOKEN', meaning: "the token's id, otk_…" }],
      options: [],
      run: (given) =>
        open(given, async ({ operators }) => {
          const id = readId('operator_token', given.words[0] ?? '')
          if (!id) throw mistyped('TOKEN is an id like otk_…, as "operator tokens" shows it.')
          await operators.revokeToken(id)
          return { json: { id, revoked: true }, lines: [`${id} is revoked.`] }
        }),
    },
  ]
}

const logCommand = (open: Opened<Deps>): Command => ({
  name: 'audit list',
  operation: 'listAuditLog',
  summary: 'Lists what operators did, newest first. "verify" checks that nothing was changed or left out.',
  takes: [],
  options: [
    { flag: 'limit', value: 'N', meaning: 'how many, 1 to 10000; 100 unless said' },
    { flag: 'before', value: 'N', meaning: 'only those below this number' },
    { flag: 'action', value: 'OPERATION', meaning: 'of one operation, such as creditCustomer' },
  ],
  run: (given) =>
    open(given, async ({ operators }) => {
      const found = await operators.log({
        before: readWhole(given, 'before', Number.MAX_SAFE_INTEGER, { min: 1, max: Number.MAX_SAFE_INTEGER }),
        operator: undefined,
        action: given.flags['action'],
        limit: readWhole(given, 'limit', 100, { min: 1, max: 10_000 }),
      })
      return {
        json: found.map((each) => ({
          seq: each.seq,
          at: toIso(each.at),
          operator: each.operator,
          name: each.name,
          role: each.role,
          action: each.action,
          request: JSON.parse(each.request) as unknown,
          source: each.source,
        })),
        lines: table(
          ['NO', 'AT', 'WHO', 'ROLE', 'ACTION', 'FROM', 'WHAT'],
          found.map((each) => [
            String(each.seq),
            toIso(each.at),
            each.name,
            each.role,
            each.action,
            each.source ?? '',
            each.request,
          ]),
        ),
      }
    }),
})

/** The link stands alone on its line, so that a script can take it. */
function toInvited({ operator, text, expiresAt }: Invited, shopUrl: string): Outcome {
  const link = `${shopUrl}/operator#enter=${text}`
  return {
    json: { ...toJson(operator), link, expires_at: toIso(expiresAt) },
    lines: [link, `It lets ${operator.name} (${operator.role}) in once, until ${toIso(expiresAt)}.`],
  }
}

function readRole(given: Given): Role {
  const role = roles.find((each) => each === given.flags['role'])
  if (!role) throw mistyped(`Say --role ${roles.join(', --role ')}.`)
  return role
}

const toJson = (operator: Operator) => ({
  id: operator.id,
  name: operator.name,
  role: operator.role,
  created_at: toIso(operator.createdAt),
})

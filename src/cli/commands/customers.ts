import { existsSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import * as customers from '../../api/admin/customers/shapes.ts'
import * as orders from '../../api/admin/orders/shapes.ts'
import { search } from '../../api/admin/search/shapes.ts'
import * as holders from '../../api/admin/stock/shapes.ts'
import { mistyped } from '../command.ts'
import { type CallOperation, type OperationCommand, over } from '../operation-command.ts'
import { csvLines, csvOption, doneBefore, local, rows, rub, secret, toLines } from '../print.ts'

type Move = Record<'amount_rub' | 'balance_rub', number> & { [_ in 'repeated' | 'dry_run']?: boolean | undefined }
const moved = (verb: string, { repeated, dry_run, amount_rub: sum, balance_rub: rest }: Move): string =>
  `${doneBefore(repeated, dry_run)}${verb} ${rub(Math.abs(sum))} RUB. The balance is ${rub(rest)} RUB.`

type EndedSubscription = { readonly until: string; readonly devices: number; readonly orders: readonly string[] }

const endsWhole = (uuid: string, { until, devices, orders: others }: EndedSubscription): string => {
  const counted = devices === 1 ? '1 device' : `${devices} devices`
  const paid = others.length === 0 ? '' : `, also by ${others.join(', ')}`
  return `The whole VPN subscription ${uuid} ends, with ${counted}; it was paid until ${until}${paid}.`
}

const orderColumns = [
  'order_id',
  'created_at',
  'customer_id',
  'customer_name',
  'product',
  'action',
  'price_rub',
  'refunded_rub',
  'state',
]

export const customerCommands: readonly OperationCommand[] = [
  over(customers.createCustomer, 'customer create', { args: 'name', show: (of) => `${of.customer_id}  ${of.name}` }),
  over(search, 'search', { args: 'q', columns: 'kind id title detail customer_id customer_name' }),
  over(customers.listCustomers, 'customer list', { columns: 'customer_id balance_rub blocked_at login name' }),
  over(customers.getCustomer, 'customer show'),
  over(customers.blockCustomer, 'customer block', {
    show: (data) => `${data.customer_id} is ${data.blocked_at === null ? 'open' : 'blocked'}.`,
  }),
  over(customers.noteCustomer, 'customer note', { args: 'note', show: (data) => `Noted: ${data.note ?? ''}` }),
  over(customers.linkCustomer, 'customer link', {
    show: (data) =>
      data.link === null
        ? [`The link went to ${data.sent_to ?? 'the customer'}.`]
        : secret(data.link, `It signs the customer in once, until ${local(data.expires_at)}.`),
  }),
  over(customers.removeCustomerFactor, 'customer remove-factor', {
    show: ({ removed }) => [removed ? 'The second factor is removed.' : 'The customer has no second factor.'],
  }),
  over(customers.eraseCustomer, 'customer erase', {
    flags: { confirm: 'yes' },
    show: (data) => [
      `${data.customer_id} was erased at ${local(data.erased_at)}.`,
      `${data.versions} versions of rows and ${data.entries} entries of the audit log were redacted.`,
      'Backups that were made before still have the customer until they are deleted.',
    ],
  }),
  {
    name: 'customer export',
    operation: customers.exportCustomer,
    summary: 'Write everything that is kept about a customer into a file of JSON, without secrets.',
    takes: [{ name: 'CUSTOMER', meaning: "The customer's id." }],
    options: [{ flag: 'to', value: 'FILE', meaning: 'The file, which must not exist. Only you can read it.' }],
    async run({ args: [customer = ''], flags }, call) {
      if (flags['to'] === undefined) throw mistyped('Name the file to write with --to FILE.')
      const file = resolve(flags['to'])
      if (existsSync(file)) throw mistyped(`${file} exists already. Name a new file.`)
      const records = await writeExport(call, customer, file)
      return {
        json: { customer_id: customer, file, records },
        lines: [`${records} records of ${customer} are in ${file}.`],
      }
    },
  },
  over(holders.findHolders, 'address holders', {
    show: ({ items, devices, is_exit: isExit, candidates }) => [
      ...(items.length > 0 ? rows(items) : []),
      ...(devices.length > 0 ? rows(devices) : []),
      ...(items.length + devices.length === 0 ? ['No customer had the address exclusively.'] : []),
      ...(isExit
        ? ['It is an exit of a pool. Customers with traffic in the pool in that hour:', ...rows(candidates)]
        : []),
    ],
  }),
  over(customers.createCustomerToken, 'token create', {
    show: (data) => secret(data.token, `Its id is ${data.token_id}.`),
  }),
  over(customers.listCustomerTokens, 'token list', { columns: 'token_id begins scopes revoked_at used_at name' }),
  over(customers.revokeCustomerToken, 'token revoke', { show: (data) => `${data.token_id} is revoked.` }),
  over(customers.creditCustomer, 'credit', { args: 'amount_rub', show: (data) => moved('Credited', data) }),
  over(customers.debitCustomer, 'debit', { args: 'amount_rub', show: (data) => moved('Debited', data) }),
  over(customers.listMovements, 'transaction list', {
    columns: 'transaction at kind amount_rub balance_rub order_id reference note',
  }),
  over(customers.refundOrder, 'refund', {
    filled: 'end',
    options: [
      {
        flag: 'end',
        meaning:
          'End everything bought with the order, and refund the unused part of the price. An order of a VPN ' +
          'subscription, a renewal too, ends the whole subscription; --dry-run shows it.',
      },
      { flag: 'whole', meaning: 'With --end: refund the whole price.' },
    ],
    fill: (given) => {
      if (given.has('whole') && !given.has('end')) throw mistyped('--whole requires --end.')
      if (given.has('end') && (given.has('amount') || given.has('again')))
        throw mistyped('--end refunds what is unused, or with --whole all: leave out --amount and --again.')
      return given.has('end') ? { end: given.has('whole') ? 'whole' : 'unused' } : {}
    },
    show: (data) => [
      moved('Refunded', { ...data, repeated: data.replayed }),
      ...(data.uuid === undefined || data.subscription === undefined ? [] : [endsWhole(data.uuid, data.subscription)]),
    ],
  }),
  over(customers.refundTraffic, 'traffic refund', {
    show: (data) => `Took back ${data.returned_gb} GB and refunded ${rub(data.refunded_rub)} RUB.`,
  }),
  over(customers.listCustomerOrders, 'order list', {
    columns: 'order_id created_at product action price_rub request_id idempotency_key',
  }),
  over(orders.listAllOrders, 'order search', {
    flags: { customer_id: 'customer', min_rub: 'min', max_rub: 'max' },
    options: [csvOption],
    show: (data, given) =>
      given.has('csv')
        ? csvLines(data.items, orderColumns)
        : toLines(
            data,
            orderColumns.filter((each) => each !== 'customer_id'),
          ),
  }),
  over(customers.getAnyOrder, 'order show'),
  over(customers.listCustomerEvents, 'event list'),
]

/** One record a line. A page is written before the next is read. */
async function writeExport(call: CallOperation, customer: string, path: string): Promise<number> {
  let read = await call(customers.exportCustomer, { customer_id: customer, limit: 500 })
  const file = await openFile(path, 'wx', 0o600)
  let records = 0
  try {
    await file.write(
      `{"customer_id":${JSON.stringify(customer)},"exported_at":"${new Date().toISOString()}","records":[`,
    )
    for (;;) {
      await file.write(read.items.map((item) => `${records++ === 0 ? '\n' : ',\n'}${JSON.stringify(item)}`).join(''))
      if (read.next_cursor === null) break
      read = await call(customers.exportCustomer, { customer_id: customer, limit: 500, cursor: read.next_cursor })
    }
    await file.write('\n]}\n')
    await file.sync()
  } finally {
    await file.close()
  }
  return records
}

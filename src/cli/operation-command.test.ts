import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTestDatabase } from '../../test/harness/database.ts'
import { wire } from '../../test/harness/wired.ts'
import type { Operation } from '../api/operation.ts'
import { createAdmin } from '../app/shop/admin.ts'
import { realRuntime } from '../app/shop/services.ts'
import { operationCommands } from '../app/tool.ts'
import { noStalls } from '../core/stall-monitor.ts'
import { readGiven } from './command.ts'
import { type CallOperation, toCommands } from './operation-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-cli-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'list.yaml')
writeFileSync(file, 'a: 1\n')

/** Arguments that a command needs beyond its words. */
const needed: Readonly<Record<string, readonly string[]>> = {
  'stock assign': ['--any'],
  'stock move': ['--node', 'gate-1'],
  'exit compare': ['--supplied', '1'],
}
/** Commands that write a file and return its path instead of the data of their operation. */
const ownAnswers = ['customer export']
/** Operations without a command: for the console only, or called by another command. */
const withoutCommand = [
  'viewCustomer',
  'getOverview',
  'getVerify',
  'getReconcile',
  'listCatalogues',
  'convertCatalogue',
  'surveyRange',
  'listCustomerProxies',
  'getCustomerServices',
  'getNodeHistory',
  'getSetup',
]
const addressOperations = ['retireAddress', 'quarantineAddress']

test('every command returns the data of its operation as JSON and prints at least one line', async () => {
  let answered: unknown
  const call = (async (operation: Operation) => {
    answered = { ...(operation.example as object), ...('state' in Object(operation.example) && { state: 'done' }) }
    return answered
  }) as CallOperation
  const commands = toCommands(operationCommands, (_given, work) => work(call, 'test'))
  for (const { name, takes } of commands.filter((each) => !ownAnswers.includes(each.name))) {
    const args = takes.map((each) => (each.name === 'FILE' ? file : each.name === 'WHAT' ? '203.0.113.0/24' : '1'))
    const { command, given } = readGiven(commands, [...name.split(' '), ...args, ...(needed[name] ?? [])], [])
    const { json, lines } = await command.run(given)
    // The answer of a shop does not know the name of its database.
    expect(json, name).toEqual(name === 'verify' ? { ...Object(answered), database: 'test' } : answered)
    expect(lines.join('\n'), name).not.toBe('')
  }
})

test('every operation of /admin/v1 has a command, except 13 listed ones', async () => {
  const opened = await openTestDatabase('sqlite')
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const runtime = { ...realRuntime, stalls: noStalls }
  const { bound } = createAdmin(wire(opened.db), runtime, () => 'https://shop.example', log)
  const named = new Set(operationCommands.map((each) => each.operation.id))
  const missing = bound.map((each) => each.operation.id).filter((id) => !named.has(id))
  expect(missing.toSorted()).toEqual([...withoutCommand, ...addressOperations].toSorted())
  await opened.close()
})

import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { type CommandServer, openCommandServer } from '../harness/command-server.ts'
import { type Net, netAddresses, openNet } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { runtimeCommand, untilTrue } from '../harness/turnpike.ts'

const { test, isPossible } = await findNetnsSupport('tests of commands against a shop in another network namespace')

const shopUrl = `https://${netAddresses.node4}:8443`

describe('operator commands over TLS from another network namespace', () => {
  let net: Net
  let folder: string
  let files: ReturnType<typeof putCertificate>
  let owner: string
  let onShopMachine: CommandServer
  let elsewhere: CommandServer

  const inNamespace = (namespace: string) => ['ip', 'netns', 'exec', namespace, 'setpriv', '--pdeathsig', 'KILL']
  const localEnv = () => ({
    PATH: process.env['PATH'] ?? '',
    TURNPIKE_DATA: join(folder, 'shop'),
    TURNPIKE_LOG: 'warn',
    TURNPIKE_PUBLIC_URL: shopUrl,
  })

  async function run(namespace: string, env: Record<string, string>, args: readonly string[]) {
    const child = Bun.spawn([...inNamespace(namespace), ...runtimeCommand, ...args], {
      env,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    return { exit: await child.exited, out, err }
  }
  /** A command on the shop’s machine. */
  const runLocal = (...args: string[]) => onShopMachine.run(args, localEnv())
  /** A command on another machine, which has only the shop’s URL, an operator token and the certificate. */
  const runRemote = (token: string, ...args: string[]) => {
    const env = { PATH: process.env['PATH'] ?? '', NODE_EXTRA_CA_CERTS: files.cert, TURNPIKE_OPERATOR_TOKEN: token }
    return elsewhere.run(['--shop', shopUrl, ...args], { ...env, TURNPIKE_DATA: join(folder, 'elsewhere') })
  }
  const readJson = (ended: { exit: number; out: string; err: string }) => {
    expect({ ...ended, out: '' }).toEqual({ exit: 0, out: '', err: '' })
    return JSON.parse(ended.out)
  }
  const runJson = async (...args: string[]) => readJson(await runRemote(owner, ...args, '--json'))

  async function makeOperator(name: string, role: string): Promise<string> {
    expect((await runLocal('operator', 'add', name, '--role', role)).exit).toBe(0)
    return readJson(await runLocal('operator', 'token', name, '--json')).token
  }

  beforeAll(async () => {
    if (!isPossible) return
    net = await openNet()
    folder = mkdtempSync(join(tmpdir(), 'turnpike-remote-'))
    files = putCertificate(await makeCertificate('remote', netAddresses.node4))
    onShopMachine = await openCommandServer(inNamespace(net.node))
    elsewhere = await openCommandServer(inNamespace(net.origin), { NODE_EXTRA_CA_CERTS: files.cert })
    const env = { ...localEnv(), ...files.env, TURNPIKE_HOST: '0.0.0.0', TURNPIKE_PORT: '8443' }
    const shop = Bun.spawn([...inNamespace(net.node), ...runtimeCommand, 'shop'], {
      env,
      stdout: 'pipe',
      stderr: 'inherit',
    })
    net.atEnd(() => shop.kill('SIGKILL'))
    const isMigrated = async () => (await runLocal('operator', 'list')).exit === 0
    expect(await untilTrue(isMigrated)).toBe(true)
    owner = await makeOperator('owner-1', 'owner')
    const isOpen = async () => (await runRemote(owner, 'customer', 'list')).exit === 0
    expect(await untilTrue(isOpen)).toBe(true)
  })
  afterAll(async () => {
    if (!isPossible) return
    await Promise.all([onShopMachine.close(), elsewhere.close()])
    await net.close()
    files.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  test('remote commands change prices, stock and balances with audit entries, and verify finds nothing', async () => {
    const prices = join(folder, 'prices.yaml')
    writeFileSync(prices, (await runRemote(owner, 'catalog', 'show', '--shipped')).out)
    await runJson('catalog', 'apply', prices)
    await runJson('stock', 'add', '203.0.113.0/28', '--country', 'DE', '--ipv', '4')
    const { customer_id: customer } = await runJson('customer', 'create', 'First customer')
    expect((await runJson('token', 'create', customer)).token).toStartWith('tp_')
    const credited = await runJson(
      'credit',
      customer,
      '500',
      '--key',
      'invoice-18',
      '--reference',
      'bank transfer 4711',
    )
    const again = await runJson('credit', customer, '500', '--key', 'invoice-18', '--reference', 'bank transfer 4711')
    expect([credited.balance_rub, again.balance_rub]).toEqual([again.balance_rub, credited.balance_rub])
    await runJson('debit', customer, '120.50', '--key', 'invoice-18-part', '--note', 'credited too much')
    await runJson('customer', 'block', customer)
    const remote = await runJson('transaction', 'list', customer)
    expect(remote.items.map((each: { amount_rub: number }) => each.amount_rub).toSorted()).toEqual([-120.5, 500])
    expect(remote).toEqual(readJson(await runLocal('transaction', 'list', customer, '--json')))
    const { items } = await runJson('audit', 'list', '--limit', '50')
    const actions = items
      .filter((each: { name: string }) => each.name === 'owner-1')
      .map((each: { action: string }) => each.action)
    expect(actions).toEqual(expect.arrayContaining(['addStock', 'createCustomer', 'creditCustomer', 'debitCustomer']))
    expect((await runJson('verify')).ok).toBe(true)
    const shown = await runRemote(owner, 'customer', 'list')
    expect([shown.exit, shown.err]).toEqual([0, ''])
    expect(shown.out).toContain('379.50')
  })

  test('remote commands exit 1 with forbidden below their role, and with invalid_token for a removed operator', async () => {
    const reader = await makeOperator('reader-1', 'reader')
    expect(await runRemote(reader, 'customer', 'list')).toMatchObject({ exit: 0, err: '' })
    const refused = await runRemote(reader, 'customer', 'create', 'Second customer', '--json')
    expect([refused.exit, JSON.parse(refused.out).error.code]).toEqual([1, 'forbidden'])
    await runJson('operator', 'remove', 'reader-1')
    const ended = await runRemote(reader, 'customer', 'list', '--json')
    expect([ended.exit, JSON.parse(ended.out).error.code]).toEqual([1, 'invalid_token'])
  })

  test('remote commands send no token over plain HTTP or to an untrusted certificate', async () => {
    const env = { PATH: process.env['PATH'] ?? '', TURNPIKE_OPERATOR_TOKEN: owner, TURNPIKE_DATA: folder }
    const untrusted = await run(net.origin, env, ['--shop', shopUrl, 'customer', 'list'])
    expect([untrusted.exit, untrusted.out]).toEqual([1, ''])
    expect(untrusted.err).toContain('certificate')
    const plain = await run(net.origin, env, ['--shop', `http://${netAddresses.node4}:8443`, 'customer', 'list'])
    expect([plain.exit, plain.out]).toEqual([2, ''])
    expect(plain.err).toContain('https://')
    expect(untrusted.err + plain.err).not.toContain(owner)
  })
})

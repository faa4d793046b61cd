import { afterAll, beforeAll, describe, expect, test as testAnywhere } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../harness/apt.ts'
import { openCommandServer } from '../harness/command-server.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { installTurnpike, openOwnMachine, packagedPath } from '../harness/own-machine.ts'
import { type Ended, runCommand, runtimeCommand, untilTrue } from '../harness/turnpike.ts'

const { test, isPossible } = await findNetnsSupport('tests of a range on a machine of its own')

type Printed = {
  range: string
  as: string
  files: { path: string; text: string }[]
  commands: string[]
  changed?: string[]
  problems?: string[]
}

const printed = async (...args: string[]): Promise<Printed> => {
  const { out, err } = await runCommand(['range', 'setup', ...args, '--json'])
  if (out === '') throw new Error(err)
  return JSON.parse(out) as Printed
}

async function openMachine() {
  const machine = await openOwnMachine({ hasOwnNetwork: true })
  const commands = await openCommandServer(machine.toInside([]))
  return {
    ...machine,
    turnpike: (...args: string[]): Promise<Ended> => commands.run(args, { PATH: process.env['PATH'] ?? '' }),
    async close(): Promise<void> {
      await commands.close()
      await machine.close()
    },
    /** Tries to bind each address as the gateway does, and to connect from it to the machine itself. */
    async use(...addresses: string[]): Promise<unknown> {
      const worker = join(import.meta.dir, '../harness/range-worker.ts')
      const { out, err } = await machine.inside([process.execPath, '--no-env-file', worker, ...addresses])
      if (out === '') throw new Error(err)
      return JSON.parse(out)
    },
  }
}

const lacking = { problem: 'not_on_this_machine', seen: 'EADDRNOTAVAIL' }
const used = (address: string) => ({ problem: null, seen: address })

describe('turnpike range setup on a machine', () => {
  let machine: Awaited<ReturnType<typeof openMachine>>
  beforeAll(async () => {
    if (isPossible) machine = await openMachine()
  })
  afterAll(() => machine?.close())

  test.each([
    ['203.0.113.0/24', ['203.0.113.0', '203.0.113.7', '203.0.113.255']],
    ['2001:db8:7::/48', ['2001:db8:7::', '2001:db8:7:1:2:3:4:5']],
  ])('the commands that range setup prints for %s let sockets bind to its addresses', async (prefix, addresses) => {
    expect(await machine.use(...addresses)).toEqual(addresses.map(() => lacking))
    const { commands } = await printed(prefix, '--as', 'networkd')
    for (const command of commands) expect(await machine.inside(command.split(' '))).toMatchObject({ code: 0 })
    expect(await machine.use(...addresses)).toEqual(addresses.map(used))
    expect(await machine.turnpike('range', 'setup', prefix, '--remove')).toMatchObject({ exit: 0 })
    await machine.inside(['sysctl', '-q', '-w', 'net.ipv6.ip_nonlocal_bind=0'])
    expect(await machine.use(...addresses)).toEqual(addresses.map(() => lacking))
  })

  test.each([
    ['203.0.113.0/24', '203.0.113.7'],
    ['2001:db8:7::/48', '2001:db8:7::9'],
  ])(
    '--apply puts %s on the machine, changes nothing when repeated, and --remove takes all back',
    async (prefix, one) => {
      mkdirSync(machine.outside('/etc/netplan'), { recursive: true })
      const before = await run(['find', machine.outside('/etc')])
      const first = await machine.turnpike('range', 'setup', prefix, '--as', 'netplan', '--apply', '--json')
      const { files, changed, problems } = JSON.parse(first.out) as Printed
      expect([first.exit, problems, changed]).toEqual([0, [], files.map(({ path }) => path)])
      for (const { path, text } of files) expect(readFileSync(machine.outside(path), 'utf8')).toBe(text)
      expect(statSync(machine.outside(files[0]?.path ?? '')).mode & 0o777).toBe(0o600)
      expect(await machine.use(one)).toEqual([used(one)])
      const again = await machine.turnpike('range', 'setup', prefix, '--as', 'netplan', '--apply', '--json')
      expect(JSON.parse(again.out)).toMatchObject({ changed: [], problems: [] })
      const removed = await machine.turnpike('range', 'setup', prefix, '--remove', '--json')
      expect(JSON.parse(removed.out)).toEqual({ range: prefix, removed: files.map(({ path }) => path) })
      const after = await run(['find', machine.outside('/etc')])
      expect(after.out).toBe(before.out)
      expect(await machine.use(one)).toEqual([lacking])
      expect((await machine.turnpike('range', 'setup', prefix, '--remove')).exit).toBe(0)
    },
  )

  test('--remove sets net.ipv6.ip_nonlocal_bind to 0 with the last range or file that sets it', async () => {
    mkdirSync(machine.outside('/etc/netplan'), { recursive: true })
    const setUp = (prefix: string, ...flags: string[]) => machine.turnpike('range', 'setup', prefix, ...flags)
    const bindSetting = async () => (await machine.inside(['sysctl', '-n', 'net.ipv6.ip_nonlocal_bind'])).out.trim()
    const ranges = ['2001:db8:7::/48', '2001:db8:9::/48'] as const
    for (const prefix of ranges) await setUp(prefix, '--as', 'netplan', '--apply')
    const [first, second] = ranges
    expect((await setUp(first, '--remove')).out).toContain(
      'unchanged, because /etc/sysctl.d/60-turnpike-2001-db8-9---48.conf sets it',
    )
    expect(await bindSetting()).toBe('1')
    expect((await setUp(second, '--remove')).out).toContain('net.ipv6.ip_nonlocal_bind: 0')
    expect(await bindSetting()).toBe('0')
    const own = machine.outside('/etc/sysctl.d/10-own.conf')
    await setUp(first, '--as', 'netplan', '--apply')
    writeFileSync(own, 'net/ipv6/ip_nonlocal_bind = 1\n')
    expect((await setUp(first, '--remove')).out).toContain('unchanged, because /etc/sysctl.d/10-own.conf sets it')
    expect(await bindSetting()).toBe('1')
    rmSync(own)
    await machine.inside(['sysctl', '-q', '-w', 'net.ipv6.ip_nonlocal_bind=0'])
  })

  test('--device puts 4 addresses on the device without the setting for foreign addresses', async () => {
    await machine.inside(['ip', 'link', 'add', 'w0', 'type', 'veth', 'peer', 'name', 'p0'])
    for (const end of ['w0', 'p0']) await machine.inside(['ip', 'link', 'set', end, 'up'])
    mkdirSync(machine.outside('/etc/network/interfaces.d'), { recursive: true })
    writeFileSync(machine.outside('/etc/network/interfaces'), 'auto lo\n')
    const command = ['range', 'setup', '2001:db8:8::4/126', '--device', 'w0', '--as', 'ifupdown'] as const
    expect((await machine.turnpike(...command, '--apply')).err).toContain('does not read the folder interfaces.d')
    writeFileSync(machine.outside('/etc/network/interfaces'), 'source /etc/network/interfaces.d/*\n')
    expect(await machine.turnpike(...command, '--apply')).toMatchObject({ exit: 0 })
    const all = [4, 5, 6, 7].map((last) => `2001:db8:8::${last}`)
    expect(await machine.use(...all, '2001:db8:8::8')).toEqual([...all.map(used), lacking])
    await machine.turnpike('range', 'setup', '2001:db8:8::4/126', '--device', 'w0', '--remove')
    expect(await machine.use(...all)).toEqual(all.map(() => lacking))
    expect(existsSync(machine.outside('/etc/network/interfaces.d/turnpike-2001-db8-8--4-126'))).toBeFalse()
  })

  test('two networkd ranges share one file for lo, which goes with the last of them', async () => {
    const own = machine.outside('/etc/systemd/network/60-turnpike.network')
    for (const prefix of ['203.0.113.0/24', '198.51.100.0/24']) {
      expect(await machine.turnpike('range', 'setup', prefix, '--as', 'networkd', '--apply')).toMatchObject({ exit: 0 })
    }
    expect(readFileSync(own, 'utf8')).toBe('[Match]\nName=lo\n')
    await machine.turnpike('range', 'setup', '203.0.113.0/24', '--remove')
    expect([existsSync(own), existsSync(`${own}.d/turnpike-198-51-100-0-24.conf`)]).toEqual([true, true])
    await machine.turnpike('range', 'setup', '198.51.100.0/24', '--remove')
    expect([existsSync(own), existsSync(`${own}.d`)]).toEqual([false, false])
  })

  test('systemd-networkd, if it is installed, puts an applied IPv4 and IPv6 range back after a restart', async () => {
    const networkd = '/lib/systemd/systemd-networkd'
    if (!existsSync(networkd)) return
    const ranges = ['203.0.113.0/24', '2001:db8:7::/48']
    for (const prefix of ranges) {
      expect(await machine.turnpike('range', 'setup', prefix, '--as', 'networkd', '--apply')).toMatchObject({ exit: 0 })
      await machine.inside(['ip', 'route', 'del', 'local', prefix, 'dev', 'lo'])
    }
    await machine.inside(['sysctl', '-q', '-w', 'net.ipv6.ip_nonlocal_bind=0'])
    const all = ['203.0.113.7', '2001:db8:7::9']
    expect(await machine.use(...all)).toEqual([lacking, lacking])
    await machine.inside(['sysctl', '-q', '-p', '/etc/sysctl.d/60-turnpike-2001-db8-7---48.conf'])
    // With a /sys that cannot be written, networkd does not wait for udev.
    const state = '/run/systemd/netif'
    const script = [
      `mount -t tmpfs tmpfs /run && mkdir -p ${state}/links ${state}/leases ${state}/lldp`,
      `chown -R systemd-network: ${state} && mount -t sysfs -o ro sysfs /sys && exec ${networkd}`,
    ].join(' && ')
    const command = machine.toInside(['unshare', '--mount', 'sh', '-c', script])
    const started = Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore' })
    const hasRoutes = async () => {
      const shown = [
        await machine.inside(['ip', '-4', 'route', 'show', 'table', 'local']),
        await machine.inside(['ip', '-6', 'route', 'show', 'table', 'local']),
      ]
      return shown.every(({ out }, at) => out.includes(`local ${ranges[at]} dev lo`))
    }
    try {
      expect(await untilTrue(hasRoutes)).toBeTrue()
      expect(await machine.use(...all)).toEqual(all.map(used))
    } finally {
      started.kill('SIGTERM')
      await started.exited
    }
    for (const prefix of ranges) await machine.turnpike('range', 'setup', prefix, '--remove')
    await machine.inside(['sysctl', '-q', '-w', 'net.ipv6.ip_nonlocal_bind=0'])
    expect(await machine.use(...all)).toEqual([lacking, lacking])
  })

  test('range setup refuses a range with the router of the machine in it', async () => {
    await machine.inside(['ip', 'link', 'add', 'w1', 'type', 'veth', 'peer', 'name', 'p1'])
    for (const end of ['w1', 'p1']) await machine.inside(['ip', 'link', 'set', end, 'up'])
    await machine.inside(['ip', 'address', 'add', '192.0.2.7/24', 'dev', 'w1'])
    await machine.inside(['ip', 'route', 'add', 'default', 'via', '192.0.2.1'])
    const refused = await machine.turnpike('range', 'setup', '192.0.2.0/24', '--as', 'networkd', '--apply')
    expect(refused).toMatchObject({ exit: 1, err: expect.stringContaining('192.0.2.1, the router of this machine') })
    expect(existsSync(machine.outside('/etc/systemd/network/60-turnpike.network'))).toBeFalse()
  })

  test('the command of the Debian package runs range setup as root and other commands as the user turnpike', async () => {
    await installTurnpike(machine, {})
    const turnpike = `${packagedPath}/turnpike`
    const applied = await machine.inside([turnpike, 'range', 'setup', '198.51.100.7', '--as', 'networkd', '--apply'])
    expect(applied).toMatchObject({ code: 0, out: expect.stringContaining('can use 198.51.100.7 now') })
    expect(await machine.inside([turnpike, 'range', 'setup', '198.51.100.7', '--remove'])).toMatchObject({ code: 0 })
    await machine.inside([turnpike, 'migrate'])
    expect((await machine.inside(['stat', '-c', '%U', '/var/lib/turnpike/turnpike.db'])).out).toBe('turnpike\n')
  })

  test('--apply by another user than root exits 1 and names the ways out', async () => {
    const other = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    const command = [...other, ...runtimeCommand, 'range', 'setup', '203.0.113.0/24', '--as', 'networkd']
    const refused = await machine.inside([...command, '--apply'])
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('Only root may change the network') })
    expect(await machine.inside(command)).toMatchObject({ code: 0 })
  })
})

type Netplan = { network: { version: number; ethernets: Record<string, unknown> } }

describe('files of turnpike range setup', () => {
  testAnywhere('range setup writes a local route of lo for systemd-networkd, as a drop-in', async () => {
    const { files } = await printed('203.0.113.0/24', '--as', 'networkd')
    expect(files.map(({ path }) => path)).toEqual([
      '/etc/systemd/network/60-turnpike.network',
      '/etc/systemd/network/60-turnpike.network.d/turnpike-203-0-113-0-24.conf',
    ])
    expect(files[1]?.text).toMatch(/^#.*\n\[Route\]\nType=local\nDestination=203\.0\.113\.0\/24\n$/)
  })

  testAnywhere('range setup writes YAML for netplan, and for IPv6 a setting that lets sockets bind', async () => {
    const { files } = await printed('2001:db8::/48', '--as', 'netplan')
    expect(Bun.YAML.parse(files[0]?.text ?? '')).toEqual({
      network: {
        version: 2,
        ethernets: { lo: { match: { name: 'lo' }, routes: [{ to: '2001:db8::/48', type: 'local' }] } },
      },
    } satisfies Netplan)
    expect(files[1]?.path).toBe('/etc/sysctl.d/60-turnpike-2001-db8---48.conf')
    expect(files[1]?.text).toMatch(/^#.*\nnet\.ipv6\.ip_nonlocal_bind = 1\n$/)
    const onDevice = await printed('2001:db8::/127', '--as', 'netplan', '--device', 'eth0')
    expect(onDevice.files.map(({ text }) => Bun.YAML.parse(text))).toEqual([
      { network: { version: 2, ethernets: { eth0: { addresses: ['2001:db8::/128', '2001:db8::1/128'] } } } },
    ])
  })

  testAnywhere('range setup writes a stanza for ifupdown, in a file whose name ifupdown reads', async () => {
    const { files } = await printed('198.51.100.8/30', '--as', 'ifupdown')
    expect(files).toHaveLength(1)
    expect(files[0]?.path).toMatch(/^\/etc\/network\/interfaces\.d\/[A-Za-z0-9_-]+$/)
    expect(files[0]?.text.split('\n').slice(1)).toEqual([
      'auto lo',
      'iface lo inet manual',
      '    up ip route replace local 198.51.100.8/30 dev lo',
      '    down ip route del local 198.51.100.8/30 dev lo',
      '',
    ])
  })

  testAnywhere('the installed netplan and ifupdown accept the files of range setup', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-range-files-'))
    for (const prefix of ['203.0.113.0/24', '2001:db8::/48']) {
      for (const as of ['netplan', 'ifupdown']) {
        for (const { path, text } of (await printed(prefix, '--as', as)).files) {
          mkdirSync(join(folder, path, '..'), { recursive: true })
          writeFileSync(join(folder, path), text, { mode: 0o600 })
        }
      }
    }
    if (Bun.which('netplan') !== null) {
      expect(await run(['netplan', 'generate', '--root-dir', folder])).toMatchObject({ code: 0 })
      const unit = readFileSync(join(folder, 'run/systemd/network/10-netplan-lo.network'), 'utf8')
      expect(unit).toContain('Destination=203.0.113.0/24\n')
      expect(unit).toContain('Destination=2001:db8::/48\n')
      expect(unit.match(/Type=local/g)).toHaveLength(2)
    }
    if (Bun.which('ifup') !== null) {
      writeFileSync(join(folder, 'interfaces'), `source ${folder}/etc/network/interfaces.d/*\n`)
      const act = ['ifup', '--no-act', '--verbose', '--force', '--state-dir', folder, '-i', `${folder}/interfaces`]
      const { code, err } = await run([...act, 'lo'])
      expect([code, err.match(/^ip route replace local .*$/gm)?.toSorted()]).toEqual([
        0,
        ['ip route replace local 2001:db8::/48 dev lo', 'ip route replace local 203.0.113.0/24 dev lo'],
      ])
    }
    rmSync(folder, { recursive: true, force: true })
  })

  testAnywhere('range setup refuses a wrong range, program, device or pair of options and exits 2', async () => {
    for (const [args, problem] of [
      [['203.0.113.7/24', '--as', 'networkd'], 'is no range'],
      [['203.0.113.0/24', '--as', 'systemd'], '--as is networkd, netplan, ifupdown'],
      [['203.0.113.0/24', '--as', 'networkd', '--device', 'eth0 up'], 'is no name of a device'],
      [['203.0.112.0/23', '--as', 'networkd', '--device', 'eth0'], 'more than 256 addresses'],
      [['203.0.113.0/24', '--apply', '--remove'], '--apply or --remove, not both'],
    ] as const) {
      const ended = await runCommand(['range', 'setup', ...args])
      expect({ args, ...ended }).toMatchObject({ exit: 2, err: expect.stringContaining(problem) })
    }
  })
})

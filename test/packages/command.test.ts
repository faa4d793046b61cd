import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }

const serviceUid = '65534'
const isRoot = process.getuid?.() === 0
const folder = mkdtempSync(join(tmpdir(), 'turnpike-command-'))
chmodSync(folder, 0o755)
const [settings, data, tools] = [join(folder, 'etc'), join(folder, 'data'), join(folder, 'tools')]
const command = join(folder, 'turnpike')
const script = join(import.meta.dir, '../../tools/package/debian/turnpike.sh')

/** The package's command with the paths and the user of this test, and a program that prints what it received. */
function prepare(): void {
  for (const path of [settings, data]) rmSync(path, { recursive: true, force: true })
  for (const path of [settings, data, tools]) mkdirSync(path, { recursive: true, mode: 0o755 })
  const program = join(folder, 'program')
  writeFileSync(program, '#!/bin/sh\necho "uid $(id -u) args $*"\nprintenv | grep ^TURNPIKE_ | sort\n', { mode: 0o755 })
  const text = readFileSync(script, 'utf8')
    .replace('/usr/lib/turnpike/turnpike', program)
    .replace('settings=/etc/turnpike', `settings=${settings}`)
    .replace('data=/var/lib/turnpike', `data=${data}`)
    .replaceAll('--reuid turnpike --regid turnpike', `--reuid ${serviceUid} --regid ${serviceUid}`)
  writeFileSync(command, text, { mode: 0o755 })
  // A user who is not root cannot become another user: then these two replace the programs of the system.
  writeFileSync(join(tools, 'id'), '#!/bin/sh\necho 0\n', { mode: 0o755 })
  const withoutOptions = 'while :; do case $1 in --clear-groups) shift;; -*) shift 2;; *) break;; esac; done'
  writeFileSync(join(tools, 'setpriv'), `#!/bin/sh\n${withoutOptions}\nexec "$@"\n`, { mode: 0o755 })
}

const write = (name: string, text: string): void => writeFileSync(join(settings, name), text, { mode: 0o600 })

async function run(args: readonly string[], env: Record<string, string> = {}, prefix: readonly string[] = []) {
  const path = isRoot ? '/usr/bin:/bin' : `${tools}:/usr/bin:/bin`
  const child = Bun.spawn([...prefix, command, ...args], { cwd: '/', env: { PATH: path, ...env }, stderr: 'pipe' })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { exit: await child.exited, out, err }
}

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the command turnpike of the Debian package', () => {
  beforeEach(prepare)

  for (const args of [['verify'], ['range', 'setup', '203.0.113.0/30']])
    test(`root’s turnpike ${args[0]} passes no environment variable on that Turnpike does not read`, async () => {
      const program = join(folder, 'program')
      writeFileSync(program, '#!/bin/sh\nprintenv | sed "s/=.*//" | sort\n', { mode: 0o755 })
      const read = { TURNPIKE_PORT: '1', LANG: 'C', LC_ALL: 'C', NOTIFY_SOCKET: '/n', NODE_EXTRA_CA_CERTS: '/c' }
      const foreign = { NODE_OPTIONS: '--x', BUN_OPTIONS: '--x', BUN_INSPECT: 'x', LD_BIND_NOT: '1', odd: 'a\nPATH=b' }
      const names = (await run(args, { ...read, ...foreign })).out.split('\n')
      expect(names).toEqual(expect.arrayContaining([...Object.keys(read), 'PATH']))
      for (const name of Object.keys(foreign)) expect(names).not.toContain(name)
    })

  test('the npm command passes no environment variable on that Turnpike does not read', async () => {
    // Bun would print its version in place of running the command.
    const path = join(import.meta.dir, '../../bin/turnpike.mjs')
    const env = { PATH: process.env['PATH'] ?? '', BUN_OPTIONS: '--revision' }
    const child = Bun.spawn(['node', path, '--version'], { env })
    expect(await child.stdout.text()).toBe(`${manifest.version}\n`)
  })

  test.each(['shop', 'gateway', 'vpn-node'])(
    'turnpike verify and turnpike doctor use turnpike-%s.env when it is the only file of a role',
    async (role) => {
      write('turnpike.env', 'TURNPIKE_PORT=1\nTURNPIKE_LOG=warn\n')
      write(`turnpike-${role}.env`, `# a comment\nTURNPIKE_PORT='2'\nTURNPIKE_PUBLIC_URL="https://${role}.example"\n`)
      for (const args of [['verify', '--json'], ['doctor']]) {
        const { exit, out } = await run(args)
        expect(exit).toBe(0)
        expect(out).toContain(`args ${args.join(' ')}${args[0] === 'doctor' ? ` --role ${role}` : ''}\n`)
        expect(out).toContain('TURNPIKE_PORT=2\n')
        expect(out).toContain(`TURNPIKE_PUBLIC_URL=https://${role}.example\n`)
        expect(out).toContain('TURNPIKE_LOG=warn\n')
        expect(out).toContain(`TURNPIKE_DATA=${data}\n`)
      }
    },
  )

  test('each role’s command uses the settings of its role, up uses turnpike.env only, and the environment wins', async () => {
    write('turnpike.env', 'TURNPIKE_LOG=common\n')
    for (const role of ['shop', 'gateway', 'vpn-node']) write(`turnpike-${role}.env`, `TURNPIKE_LOG=${role}\n`)
    const logOf = async (args: readonly string[], env = {}) => /LOG=(\S+)/.exec((await run(args, env)).out)?.[1]
    expect(await logOf(['up'])).toBe('common')
    expect(await logOf(['shop'])).toBe('shop')
    expect(await logOf(['gateway', 'reload'])).toBe('gateway')
    expect(await logOf(['vpn-node', 'status'])).toBe('vpn-node')
    expect(await logOf(['node', 'list'])).toBe('shop')
    expect(await logOf(['--json', 'gateway'])).toBe('gateway')
    expect(await logOf(['shop'], { TURNPIKE_LOG: 'mine' })).toBe('mine')
  })

  test('turnpike doctor runs once for each role that has a settings file or data, with the settings of that role', async () => {
    write('turnpike-gateway.env', 'TURNPIKE_LOG=gateway\n')
    writeFileSync(join(data, 'turnpike.db'), '')
    const { out } = await run(['doctor'])
    expect(out.match(/^(?:uid.*args.*|TURNPIKE_LOG=.*)$/gm)).toEqual([
      expect.stringContaining('args doctor --role shop'),
      expect.stringContaining('args doctor --role gateway'),
      'TURNPIKE_LOG=gateway',
    ])
    expect((await run(['doctor', '--role', 'gateway'])).out.match(/^uid.*$/gm)).toHaveLength(1)
  })

  test('a user who may not read a settings file gets a message that names the file and none of its contents', async () => {
    write('turnpike-shop.env', 'TURNPIKE_DATABASE_URL=postgres://secret\n')
    chmodSync(join(settings, 'turnpike-shop.env'), isRoot ? 0o600 : 0)
    const asOther = isRoot ? ['setpriv', '--reuid=1', '--regid=1', '--clear-groups'] : []
    const plain = isRoot ? {} : { PATH: '/usr/bin:/bin' }
    const { err, out } = await run(['verify'], plain, asOther)
    expect(err).toContain(`may not read ${join(settings, 'turnpike-shop.env')}`)
    expect(err).toContain('Run it as root')
    expect(out + err).not.toContain('postgres')
    const quiet = [['verify', '--shop', 'https://shop.example'], ['--help']]
    for (const args of quiet) expect((await run(args, plain, asOther)).err).toBe('')
    expect((await run(['verify'], { ...plain, TURNPIKE_DATA: '/nowhere' }, asOther)).err).toBe('')
  })
})

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run, version } from '../../tools/package/place.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { apart, childOf, endSpace } from './apart.ts'
import { tryCompose } from './compose.ts'
import { expectSame, expectTold, type Steps } from './steps.ts'

const token = 'tp_test_of_the_container'

/** What an image says of how it is to be run. */
type Described = { readonly Env: string[]; readonly Architecture: string; readonly Layers: string[] }

/**
 * The image as a stranger runs it: read by skopeo, unpacked by umoci, and started as its own user on a root that cannot
 * be written to, with nothing but a volume for its data.
 */
export async function tryImage(steps: Steps, archive: string, architecture: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-image-'))
  try {
    const rootfs = join(folder, 'bundle/rootfs')
    await steps.step(`the image for ${architecture}: read and unpacked`, async () => {
      const told = JSON.parse(await run(['skopeo', 'inspect', `oci-archive:${archive}`])) as Described
      expectSame('its processor', told.Architecture, architecture)
      const layout = join(folder, 'layout')
      mkdirSync(layout)
      await run(['tar', '-C', layout, '-xf', archive])
      await run(['umoci', 'unpack', '--image', `${layout}:${version}`, join(folder, 'bundle')])
      return `${(Number((await run(['du', '-sk', rootfs])).split('\t')[0]) / 1000).toFixed(0)} MB unpacked`
    })
    if (architecture === 'amd64' && process.arch === 'x64') {
      await runImage(steps, folder, rootfs)
      await tryCompose(steps, join(folder, 'bundle'))
    } else await emulate(steps, rootfs)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runImage(steps: Steps, folder: string, rootfs: string): Promise<void> {
  const { process: how } = (await Bun.file(join(folder, 'bundle/config.json')).json()) as {
    process: { user: { uid: number; gid: number }; env: string[]; args: string[] }
  }
  const inside = ['chroot', `--userspec=${how.user.uid}:${how.user.gid}`, rootfs, ...how.args.slice(0, 1)]
  const env = Object.fromEntries(
    [...how.env, 'TURNPIKE_SANDBOX=on', `TURNPIKE_SANDBOX_TOKEN=${token}`].map((each) => each.split('=', 2)),
  )
  const volume = `${rootfs}/var/lib/turnpike`
  const prepared =
    `mount --bind ${rootfs} ${rootfs} && mount -t proc proc ${rootfs}/proc && ` +
    `mount -t tmpfs -o mode=1777 tmp ${rootfs}/tmp && ` +
    `mount -t tmpfs -o mode=700,uid=${how.user.uid},gid=${how.user.gid} data ${volume} && ip link set lo up && ` +
    `mount -o remount,bind,ro ${rootfs} && env -i "$@"; exit $?`
  const settings = Object.entries<string>(env).map(([name, value]) => `${name}=${value}`)
  mkdirSync(join(rootfs, 'proc'), { recursive: true })
  // The shell stays: whoever becomes another user no longer ends with those who started him.
  const host = Bun.spawn(
    [...apart, '--net', 'sh', '-c', prepared, 'sh', ...settings, ...inside, ...how.args.slice(1)],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
  )
  const into = async (...command: readonly string[]) =>
    run(['nsenter', `--target=${childOf(host.pid)}`, '--net', '--mount', '--pid', ...command], '/', env)
  try {
    await steps.step('the image is run, on a root that is read-only, and sells', async () => {
      await untilReady(host, () => into(...inside, 'ready'))
      const body = '{"country_code":"DE","period":30,"count":1,"ipv":4}'
      const asked = ['-sS', '-H', `Authorization: Bearer ${token}`, '-H', 'Content-Type: application/json', '-d', body]
      // The shop is ready before its gateway has joined it, and sells nothing until then.
      let bought = ''
      await untilTrue(async () => {
        bought = await into('curl', ...asked, 'http://127.0.0.1:8080/api/v1/dedicated/buy')
        return bought.startsWith('{"ok":true')
      })
      const { data } = JSON.parse(bought) as { data: { proxies: Record<string, string>[] } }
      const proxy = data.proxies[0] ?? {}
      const way = `http://${proxy['username']}:${proxy['password']}@${proxy['ip']}:${proxy['port']}`
      const carried = await into('curl', '-sS', '-x', way, 'http://127.0.0.1:8080/healthz')
      expectSame('what went through the proxy', carried, `{"ok":true,"version":"${version}"}`)
      return undefined
    })
    await steps.step('it has what a VPN node runs', async () => {
      for (const [program, word] of [
        ['ip', '-V'],
        ['tc', '-V'],
        ['nft', '--version'],
        ['wg', '--version'],
      ] as const) {
        expectTold(program, await into('chroot', rootfs, program, word), /\d/)
      }
      return undefined
    })
  } finally {
    await endSpace(host)
  }
}

const mostTries = 200

async function untilReady(host: Bun.Subprocess, ask: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; host.exitCode === null && tries < mostTries; tries += 1) {
    const isReady = await ask().then(
      () => true,
      () => false,
    )
    if (isReady) return
    await Bun.sleep(300)
  }
  throw new Error('it does not become ready')
}

/** What is for another processor is run by an emulator, as far as that goes. */
async function emulate(steps: Steps, rootfs: string): Promise<void> {
  const emulator = 'qemu-aarch64-static'
  if (Bun.which(emulator) === null) return steps.leaveOut('the program for arm64', `there is no ${emulator}`)
  await steps.step('the program for arm64, emulated, says its version', async () => {
    const said = await run([emulator, '-L', rootfs, join(rootfs, 'usr/bin/turnpike'), '--version'])
    expectSame('its version', said.trim(), version)
    return undefined
  })
}

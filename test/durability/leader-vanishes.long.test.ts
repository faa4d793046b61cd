import { expect } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLeaders } from '../../src/db/leader.ts'
import { run } from '../harness/apt.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { startPostgres } from '../harness/postgres.ts'
import { untilTrue } from '../harness/turnpike.ts'

const { test } = await findNetnsSupport('a shop whose machine vanishes')
const space = `tplead${process.pid}`
/** The addresses of a link between the server and the namespace of the leader. */
const [serverAddress, leaderAddress] = ['10.213.77.1', '10.213.77.2']

async function mustRun(command: string): Promise<void> {
  const { code, err } = await run(command.split(' '))
  if (code !== 0) throw new Error(`${command}: ${err}`)
}

async function openLink(): Promise<void> {
  const link = `tpl${process.pid}`
  await mustRun(`ip netns add ${space}`)
  await mustRun(`ip link add ${link} type veth peer name leader netns ${space}`)
  await mustRun(`ip address add ${serverAddress}/30 dev ${link}`)
  await mustRun(`ip link set ${link} up`)
  await mustRun(`ip -n ${space} address add ${leaderAddress}/30 dev leader`)
  await mustRun(`ip -n ${space} link set leader up`)
}

/** From now on no packet leaves the namespace or enters it, and no connection is closed. */
async function cutLink(): Promise<void> {
  const chain = (hook: string): string => `chain ${hook} { type filter hook ${hook} priority 0; policy drop; };`
  const rules = `table inet cut { ${chain('input')} ${chain('output')} }`
  const { code, err } = await run(['ip', 'netns', 'exec', space, 'nft', '-f', '-'], rules)
  if (code !== 0) throw new Error(err)
}

test('another shop leads a job within 180 s after the machine of its leader vanished without closing its connections', async () => {
  const folder = mkdtempSync('/tmp/turnpike-hba-')
  const hba = join(folder, 'pg_hba.conf')
  await run(['chmod', '755', folder])
  writeFileSync(hba, 'host all all 127.0.0.1/32 trust\nhost all all 10.213.77.0/30 trust\n')
  const server = await startPostgres({ own: true, settings: ['listen_addresses=*', `hba_file=${hba}`] })
  const here = createLeaders(server.url)
  let leader: ReturnType<typeof Bun.spawn> | undefined
  try {
    await openLink()
    const away = server.url.replace('127.0.0.1', serverAddress)
    const worker = join(import.meta.dir, 'leader-worker.ts')
    const child = Bun.spawn(['ip', 'netns', 'exec', space, process.execPath, worker, away], { stdout: 'pipe' })
    leader = child
    const { value } = await child.stdout.getReader().read()
    expect(new TextDecoder().decode(value).trim()).toBe('true')
    expect(await here.leads('renew proxies')).toBeFalse()
    await cutLink()
    child.kill('SIGKILL')
    await child.exited
    expect(await untilTrue(() => here.leads('renew proxies'))).toBeTrue()
  } finally {
    leader?.kill('SIGKILL')
    await here.stop()
    await run(['ip', 'netns', 'delete', space])
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

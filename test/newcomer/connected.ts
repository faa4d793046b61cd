import { join } from 'node:path'
import { expectSame } from './steps.ts'

/** Open tunnels through a proxy. */
export type Connected = {
  /** Closes them; fails if any was cut off before. */
  hangUp(): Promise<void>
  /** Expects so many to have been cut off. */
  expectCutOff(count: number): Promise<void>
}

/** `echoAddress` is an address in the network of the tunnels, where their destination listens. */
export async function connect(
  { inItsNetwork }: { readonly inItsNetwork: readonly string[] },
  proxy: string,
  count: number,
  echoAddress = '127.0.0.1',
): Promise<Connected> {
  const program = [process.execPath, join(import.meta.dir, 'tunnels-worker.ts'), proxy, String(count), echoAddress]
  const child = Bun.spawn([...inItsNetwork, ...program], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  const reader = child.stdout.getReader()
  let printed = ''
  const readMore = async (): Promise<boolean> => {
    const { value, done } = await reader.read()
    if (value) printed += new TextDecoder().decode(value)
    return !done
  }
  while (!printed.includes('open\n')) {
    if (!(await readMore())) throw new Error(`no tunnel opened: ${await child.stderr.text()}`)
  }
  async function end(): Promise<{ broken: number; messages: number }> {
    await child.stdin.end()
    while (await readMore());
    return JSON.parse(printed.trim().split('\n').at(-1) ?? '') as { broken: number; messages: number }
  }
  const expectCutOff = async (wanted: number) => expectSame('tunnels that were cut off', (await end()).broken, wanted)
  return { hangUp: () => expectCutOff(0), expectCutOff }
}

import { join } from 'node:path'
import { expectSame } from './steps.ts'

/** Customers who are connected through a proxy. */
export type Connected = {
  /** They hang up; none of them may have been cut off meanwhile. */
  hangUp(): Promise<void>
  /** As many as are said have been cut off. */
  expectCutOff(count: number): Promise<void>
}

/** They speak to `place`, an address of the network that they are in. */
export async function connect(
  { inItsNetwork }: { readonly inItsNetwork: readonly string[] },
  proxy: string,
  count: number,
  place = '127.0.0.1',
): Promise<Connected> {
  const program = [process.execPath, join(import.meta.dir, 'tunnels-worker.ts'), proxy, String(count), place]
  const child = Bun.spawn([...inItsNetwork, ...program], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  const reader = child.stdout.getReader()
  let said = ''
  const hear = async (): Promise<boolean> => {
    const { value, done } = await reader.read()
    if (value) said += new TextDecoder().decode(value)
    return !done
  }
  while (!said.includes('open\n')) {
    if (!(await hear())) throw new Error(`nobody is connected: ${await child.stderr.text()}`)
  }
  async function end(): Promise<{ broken: number; words: number }> {
    await child.stdin.end()
    while (await hear());
    return JSON.parse(said.trim().split('\n').at(-1) ?? '') as { broken: number; words: number }
  }
  const expectCutOff = async (wanted: number) => expectSame('tunnels that were cut off', (await end()).broken, wanted)
  return { hangUp: () => expectCutOff(0), expectCutOff }
}

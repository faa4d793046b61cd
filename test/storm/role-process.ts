import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { realTiming } from '../../src/dataplane/agent/runtime.ts'
import { findPredecessor } from '../../src/dataplane/gateway/handover/handover.ts'
import { untilTrue } from '../harness/turnpike.ts'

const program = join(import.meta.dir, '../../src/app/turnpike.ts')
const stopWithinMs = 20_000

/** Kills all processes of a storm that ends early, also paused ones. */
const running = new Set<Bun.Subprocess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** `turnpike shop`, `gateway` or `vpn-node` as a process that can be killed, stopped, paused and started again. */
export class RoleProcess {
  /** The number of unexpected exits. */
  ownDeaths = 0
  starts = 0
  private child: Bun.Subprocess | undefined
  /** Processes that were taken over from. */
  private readonly draining = new Set<Bun.Subprocess>()
  private isEnding = false

  constructor(
    readonly role: 'shop' | 'gateway' | 'vpn-node',
    private readonly env: Record<string, string>,
    readonly logFile: string,
    private readonly isOpen: () => Promise<boolean>,
    /** The command prefix, such as `ip netns exec NAME`. */
    private readonly prefix: readonly string[] = [],
  ) {}

  get pid(): number | undefined {
    return this.child?.pid
  }

  /** Starts it, and resolves once it answers. */
  async start(): Promise<void> {
    this.isEnding = false
    const child = this.spawn([])
    this.child = child
    const opened = await untilTrue(async () => child.exitCode !== null || (await this.isOpen()))
    if (!opened || child.exitCode !== null) throw new Error(`the ${this.role} did not open; see ${this.logFile}`)
  }

  /** Another process takes over, and the running one drains its tunnels. */
  async takeOver(): Promise<void> {
    const before = this.child
    if (!before || this.isGone) return
    const successor = this.spawn(['--take-over'])
    this.child = successor
    this.draining.add(before)
    void before.exited.then(() => this.draining.delete(before))
    const folder = join(this.env['TURNPIKE_DATA'] ?? '', 'gateway')
    const serves = async (): Promise<boolean> => {
      const found = await findPredecessor(folder, realTiming)
      found?.close()
      return found?.who.pid === successor.pid
    }
    const isOver = await untilTrue(async () => successor.exitCode !== null || (await serves()))
    // A process that cannot reach a shop does not take over.
    if (successor.exitCode === 1 && before.exitCode === null) {
      this.child = before
      this.draining.delete(before)
    } else if (!isOver || successor.exitCode !== null)
      throw new Error(`the new process has not taken over; see ${this.logFile}`)
  }

  private spawn(flags: readonly string[]): Bun.Subprocess {
    this.starts += 1
    const log = openSync(this.logFile, 'a', 0o600)
    const child = Bun.spawn([...this.prefix, process.execPath, '--no-env-file', program, this.role, ...flags], {
      env: { PATH: process.env['PATH'] ?? '', ...this.env, TURNPIKE_LEASH: '0' },
      // The process ends when this pipe closes, also if the storm is killed.
      stdin: 'pipe',
      stdout: log,
      stderr: log,
    })
    closeSync(log)
    running.add(child)
    void this.watch(child)
    return child
  }

  /** Kills it with SIGKILL. */
  kill(): Promise<void> {
    return this.end('SIGKILL')
  }

  /** Ends it with SIGTERM. */
  stop(): Promise<void> {
    return this.end('SIGTERM')
  }

  /** Suspends it for a while, as on an overloaded machine. */
  async pause(ms: number): Promise<void> {
    await this.halt()
    await Bun.sleep(ms)
    await this.resume()
  }

  async halt(): Promise<void> {
    for (const each of this.all) each.kill('SIGSTOP')
  }

  async resume(): Promise<void> {
    for (const each of this.all) each.kill('SIGCONT')
  }

  private get all(): readonly Bun.Subprocess[] {
    return [...this.draining, ...(this.child ? [this.child] : [])]
  }

  get isGone(): boolean {
    return this.child === undefined || this.child.exitCode !== null || this.child.signalCode !== null
  }

  get memoryMb(): number {
    const kb = /^VmRSS:\s+(\d+) kB$/m.exec(this.read('status'))?.[1]
    return Math.round(Number(kb ?? 0) / 1024)
  }

  get descriptors(): number {
    return this.pid === undefined || this.isGone ? 0 : readdirSync(`/proc/${this.pid}/fd`).length
  }

  private async watch(child: Bun.Subprocess): Promise<void> {
    await child.exited
    running.delete(child)
    const hasDrained = this.draining.has(child) && child.exitCode === 0
    const hasRefused = child === this.child && child.exitCode === 1 && this.draining.size > 0
    if (!hasRefused && !hasDrained && (this.child === child || this.draining.has(child)) && !this.isEnding)
      this.ownDeaths += 1
  }

  private read(file: string): string {
    return this.pid === undefined || this.isGone ? '' : readFileSync(`/proc/${this.pid}/${file}`, 'utf8')
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this
    if (!child) return
    this.isEnding = true
    const all = [child, ...this.draining]
    for (const each of all) each.kill(signal)
    const killer = setTimeout(() => {
      for (const each of all) each.kill('SIGKILL')
    }, stopWithinMs)
    await Promise.all(all.map((each) => each.exited))
    clearTimeout(killer)
  }
}

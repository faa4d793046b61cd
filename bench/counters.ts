/** What the processor counted for a thread: instructions in user and in kernel mode, and cycles in both. */
export type ThreadCounters = {
  readonly id: number
  readonly name: string
  user: number
  kernel: number
  cycles: number
}

const fieldOf = {
  'instructions:u': 'user',
  'instructions:k': 'kernel',
  'cycles:u': 'cycles',
  'cycles:k': 'cycles',
} as const
const events = Object.keys(fieldOf).join(',')
const separator = ';'

/** Why perf cannot count here, or undefined. */
export function findCounterLack(): string | undefined {
  if (Bun.which('perf') === null) return 'the counters of the processor need perf (apt-get install linux-perf)'
  const tried = Bun.spawnSync(['perf', 'stat', '-x', separator, '-e', events, 'true'])
  const isCounted = tried.success && !/not (supported|counted)/.test(tried.stderr.toString())
  return isCounted ? undefined : 'perf cannot read the counters of the processor: a virtual machine may hide them'
}

/** Counts for all threads of processes while `act` runs. */
export async function countWork<Result>(
  pids: readonly number[],
  act: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly threads: readonly ThreadCounters[] }> {
  // perf counts for as long as its command runs, and the command's echo shows that it counts.
  const perf = Bun.spawn(
    ['perf', 'stat', '-x', separator, '-e', events, '--per-thread', '-p', pids.join(','), '--', 'cat'],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
  )
  const output = perf.stdout.getReader()
  void perf.stdin.write('\n')
  await perf.stdin.flush()
  await output.read()
  const result = await act()
  await perf.stdin.end()
  const text = await perf.stderr.text()
  if ((await perf.exited) !== 0) throw new Error(`perf failed:\n${text}`)
  return { result, threads: readThreads(text) }
}

/** Lines such as `Worker-123;4567;;instructions:u;…`. */
function readThreads(text: string): ThreadCounters[] {
  const threads = new Map<number, ThreadCounters>()
  for (const line of text.split('\n')) {
    const [thread = '', count = '', , event = ''] = line.split(separator)
    const [, name, id] = /^\s*(.*)-(\d+)$/.exec(thread) ?? []
    const field = fieldOf[event as keyof typeof fieldOf]
    if (name === undefined || field === undefined || !/^\d+$/.test(count)) continue
    const known = threads.get(Number(id)) ?? { id: Number(id), name, user: 0, kernel: 0, cycles: 0 }
    known[field] += Number(count)
    threads.set(known.id, known)
  }
  return [...threads.values()]
}

import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { root, version } from './place.ts'
import { findRuntime } from './runtime.ts'
import type { Target } from './targets.ts'

/** Where Bun shows a packed program what is in it. */
const inside = '/$bunfs/root'

/** The program, and what it starts as threads: those of the gateway's engines. */
export const entries = [
  'src/app/turnpike.ts',
  'src/dataplane/gateway/relay/linux/worker.ts',
  'src/dataplane/gateway/relay/portable/accepter-worker.ts',
]

/** What it reads while it runs, besides its code. Files and folders, from the project's own. */
const assets = [
  'migrations',
  'dist/console',
  'src/api/docs',
  'docs/login-grammar.md',
  'docs/api/errors.md',
  'docs/api/events.md',
]

/**
 * Code that is packed is moved together, so a module would look for what lies beside it in the wrong place. Here each
 * is told that it is where it is in the project, and the files above are put there too: so one way of finding them
 * holds for both forms.
 */
const inPlace = (of: string): Bun.BunPlugin => ({
  name: 'in place',
  setup(build) {
    build.onLoad({ filter: /\/package\.json$/ }, async ({ path }) => {
      const contents = await Bun.file(path).text()
      if (path !== join(root, 'package.json')) return { contents, loader: 'json' }
      return { contents: JSON.stringify({ version: of }), loader: 'json' }
    })
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const place = `${inside}/${relative(root, path)}`
      const text = await Bun.file(path).text()
      const contents = text
        .replaceAll('import.meta.url', JSON.stringify(`file://${place}`))
        .replaceAll('import.meta.dir', JSON.stringify(place.slice(0, place.lastIndexOf('/'))))
      return { contents, loader: 'ts' }
    })
  },
})

/** Packs the program, and all that it reads, into one file that runs by itself. */
export async function buildBinary(target: Target, outfile: string, of = version): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'turnpike-binary-'))
  try {
    // Bun keeps an asset's own name and what is below it, so they are handed over from the top.
    const tree = join(work, 'tree')
    for (const asset of assets) cpSync(join(root, asset), join(tree, asset), { recursive: true })
    const packed = join(work, 'turnpike')
    await Bun.build({
      entrypoints: entries.map((entry) => join(root, entry)),
      root,
      target: 'bun',
      // A command loads what it is made of and no more, packed as well.
      splitting: true,
      minify: { whitespace: true, syntax: true },
      sourcemap: 'linked',
      plugins: [inPlace(of)],
      compile: {
        target: `bun-linux-${target.cpu}`,
        executablePath: await findRuntime(target),
        outfile: packed,
        assets: readdirSync(tree).map((name) => join(tree, name)),
        // The environment is what the operator set, and the working folder is anybody's.
        autoloadDotenv: false,
        autoloadBunfig: false,
      },
    })
    mkdirSync(dirname(outfile), { recursive: true })
    copyFileSync(packed, outfile)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

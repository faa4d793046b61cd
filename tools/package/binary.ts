import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { root, version } from './project.ts'
import { findRuntime } from './runtime.ts'
import type { Target } from './targets.ts'

/** The folder in which a compiled program sees its embedded files. */
const inside = '/$bunfs/root'

/** The program, and the worker threads of the gateway's engines. */
export const entries = [
  'src/app/turnpike.ts',
  'src/dataplane/gateway/engines/linux/worker.ts',
  'src/dataplane/gateway/engines/shared/accepter-worker.ts',
]

/** Files and folders that the program reads while it runs, relative to the project's root. */
const assets = [
  'migrations',
  'dist/console',
  'src/api/docs',
  'src/console/icon.svg',
  'docs/guides',
  'docs/login-grammar.md',
  'docs/mcp.md',
  'docs/api/errors.md',
  'docs/api/reasons.md',
  'docs/api/events.md',
  'docs/api/webhooks.md',
  'docs/ru/guides',
  'docs/ru/login-grammar.md',
  'docs/ru/mcp.md',
  'docs/ru/errors.md',
  'docs/ru/reasons.md',
  'docs/ru/events.md',
  'docs/ru/webhooks.md',
]

/**
 * A bundler plugin that keeps module paths. Bundling moves modules, so `import.meta.dir` would name the wrong folder.
 * The plugin replaces it by the module's folder in the project, where the assets above are embedded. The same code
 * finds a file in a checkout and in a compiled program.
 */
const embedPaths = (of: string): Bun.BunPlugin => ({
  name: 'in place',
  setup(build) {
    build.onLoad({ filter: /\/package\.json$/ }, async ({ path }) => {
      const contents = await Bun.file(path).text()
      if (path !== join(root, 'package.json')) return { contents, loader: 'json' }
      return { contents: JSON.stringify({ version: of }), loader: 'json' }
    })
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const embeddedPath = `${inside}/${relative(root, path)}`
      const text = await Bun.file(path).text()
      const contents = text
        .replaceAll('import.meta.url', JSON.stringify(`file://${embeddedPath}`))
        .replaceAll('import.meta.dir', JSON.stringify(embeddedPath.slice(0, embeddedPath.lastIndexOf('/'))))
      return { contents, loader: 'ts' }
    })
  },
})

/** Compiles the program and its assets into one executable file. */
export async function buildBinary(target: Target, outfile: string, of = version): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'turnpike-binary-'))
  try {
    // Bun keeps the name of an asset and the paths below it, so top-level folders are passed.
    const tree = join(work, 'tree')
    for (const asset of assets) cpSync(join(root, asset), join(tree, asset), { recursive: true })
    const packed = join(work, 'turnpike')
    await Bun.build({
      entrypoints: entries.map((entry) => join(root, entry)),
      root,
      target: 'bun',
      // A command loads only its own modules, as in a checkout.
      splitting: true,
      // A command spends half its time on parsing without it; the program grows by 10 MB.
      bytecode: true,
      format: 'esm',
      minify: { whitespace: true, syntax: true },
      sourcemap: 'linked',
      plugins: [embedPaths(of)],
      compile: {
        target: `bun-linux-${target.cpu}`,
        executablePath: await findRuntime(target),
        outfile: packed,
        assets: readdirSync(tree).map((name) => join(tree, name)),
        // The program reads no `.env` or `bunfig.toml` of the working folder.
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

import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Ran, runProgram } from '../harness/run-program.ts'

const root = resolve(import.meta.dir, '../..')

/** Compiles programs that import the client for TypeScript, as their authors would. */
export async function compileStrict(folder: string, files: readonly string[]): Promise<Ran> {
  const compilerOptions = {
    noEmit: true,
    strict: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2022',
    lib: ['esnext', 'dom', 'dom.asynciterable'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    allowImportingTsExtensions: true,
    paths: { '@turnpike/client': [join(root, 'packages/client/src/index.ts')] },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  return runProgram([join(root, 'node_modules/.bin/tsc'), '-p', '.'], { folder })
}

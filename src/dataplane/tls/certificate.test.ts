import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { selfSigned, selfSignedShop } from '../../../test/harness/self-signed.ts'
import { acmeFiles, readFiles, writeFiles } from './certificate.ts'

test('a crash at any step of a renewal leaves a certificate that matches its key', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-pair-'))
  try {
    const files = acmeFiles(folder)
    writeFiles(files, selfSigned)
    expect(readFiles(files).names).toContain('localhost')
    // A crash after the new key was written.
    writeFileSync(`${files.key}.next`, selfSignedShop.key)
    expect(readFiles(files).names).toContain('localhost')
    // A crash after the new certificate was written: a folder in place of the key makes the last step fail.
    rmSync(files.key)
    mkdirSync(join(files.key, 'in the way'), { recursive: true })
    expect(() => writeFiles(files, selfSignedShop)).toThrow()
    expect(readFiles(files).names).toContain('shop.test')
    rmSync(files.key, { recursive: true })
    writeFiles(files, selfSigned)
    expect(readFiles(files).names).toContain('localhost')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

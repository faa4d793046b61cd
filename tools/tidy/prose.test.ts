import { expect, test } from 'bun:test'
import { rulesBroken } from './planted.ts'
import { checkProse } from './prose.ts'

const broken = (path: string, text: string) => rulesBroken(checkProse, path, text)

test('checkProse finds banned words in comments, titles and docs', () => {
  for (const sentence of [
    'Whoever asks waits.',
    'A customer gets his bytes.',
    'The node hears of it.',
    'It is told nothing.',
    'The tunnel goes on.',
    'What is open stays open.',
  ]) {
    expect(broken('src/api/http.ts', `// ${sentence}\nconst a = 1`)).toEqual(['banned-word'])
    expect(broken('src/api/http.ts', `/**\n * ${sentence}\n */\nconst a = 1`)).toEqual(['banned-word'])
    expect(broken('docs/gateway.md', sentence)).toEqual(['banned-word'])
    expect(broken('src/api/http.ts', `refuse("${sentence}")`)).toEqual(['banned-word'])
    expect(broken('src/api/http.ts', `refuse(\`\${name}: ${sentence}\`)`)).toEqual(['banned-word'])
    expect(broken('src/api/http.test.ts', `test('${sentence}', () => {})`)).toEqual(['banned-word'])
  }
})

test('checkProse leaves code, quoted words and the changelog alone', () => {
  expect(broken('src/api/http.ts', "const whoever = 'nobody' // The caller is `nobody`.")).toEqual([])
  expect(broken('src/api/store.ts', "read('SELECT his FROM users')")).toEqual([])
  expect(broken('CHANGELOG.md', 'Nobody waits.')).toEqual([])
  expect(broken('docs/gateway.md', 'The history of this customer is shown.')).toEqual([])
})

test('checkProse refuses a test title that is a fragment without its describe', () => {
  for (const title of ['that are empty are used again', 'of both protocols', 'is refused', 'buckets']) {
    expect(broken('src/api/http.test.ts', `test('${title}', () => {})`)).toEqual(['title'])
    expect(broken('src/api/http.test.ts', `test.each([1])('${title}', () => {})`)).toEqual(['title'])
  }
  expect(broken('src/api/http.test.ts', "test('PipePool reuses a pipe only when it is empty', () => {})")).toEqual([])
  expect(broken('src/api/http.test.ts', "describe('buckets', () => {})")).toEqual([])
})

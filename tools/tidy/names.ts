import { type Files, isCode, isShipped, type Violation } from './source.ts'

const maxLines = 600
const codeFolders = new Set(['src', 'test', 'tools', 'bench', 'bin', 'packages'])
const emptyNames = new Set(
  'util utils helper helpers manager managers misc common data info handler handlers'.split(' '),
)
/** Files that each domain has in its folder, and files that it has there or in its subfolders. */
const filesOfADomain = ['README.md', 'index.ts']
const filesOfItsFolders = ['rules.ts', 'store.ts']

export function checkNames(files: Files): Violation[] {
  return [...[...files.keys()].flatMap(checkPath), ...checkLengths(files), ...checkDomains(files)]
}

function checkPath(path: string): Violation[] {
  const parts = path.split('/')
  if (!codeFolders.has(parts[0] ?? '') || parts.length < 2) return []
  const violation = (rule: string, explanation: string): Violation => ({ path, line: 1, rule, explanation })
  const found: Violation[] = []
  const empty = parts.map((part) => part.replace(/\..*$/, '')).find((stem) => emptyNames.has(stem))
  if (empty !== undefined) found.push(violation('empty-name', `“${empty}” says nothing; name what it holds`))
  if (!isCode(path)) return found
  const name = parts.at(-1) ?? ''
  const [stem = '', ...suffixes] = name.split('.')
  const folders = parts.slice(0, -1)
  if (![stem, ...folders].every((part) => /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(part))) {
    found.push(violation('kebab-case', 'files and folders of code are named in kebab-case'))
  }
  if (suffixes.length > 1 && !/^(?:(?:long\.)?test|d)\.[a-z]+$/.test(suffixes.join('.'))) {
    found.push(violation('role-suffix', 'the folder is the role; .test and .long.test are the only suffixes'))
  }
  return found
}

function checkLengths(files: Files): Violation[] {
  return [...files].flatMap(([path, text]) => {
    const lines = text.replace(/\n$/, '').split('\n').length
    if (!isShipped(path) || lines <= maxLines) return []
    return [
      {
        path,
        line: maxLines + 1,
        rule: 'length',
        explanation: `${lines} lines; a file of more than ${maxLines} lines is hard to read`,
        isWarning: true,
      },
    ]
  })
}

function checkDomains(files: Files): Violation[] {
  const domains = new Set([...files.keys()].map((path) => /^src\/domains\/([^/]+)\//.exec(path)?.[1]))
  return [...domains].flatMap((domain) => {
    if (domain === undefined) return []
    const own = [...files.keys()].filter((path) => path.startsWith(`src/domains/${domain}/`))
    const missing = [
      ...filesOfADomain.filter((name) => !own.includes(`src/domains/${domain}/${name}`)),
      ...filesOfItsFolders.filter((name) => !own.some((path) => path.endsWith(`/${name}`))),
    ]
    return missing.map((name) => ({
      path: `src/domains/${domain}/${name}`,
      line: 1,
      rule: 'anatomy',
      explanation: 'every domain has this file',
    }))
  })
}

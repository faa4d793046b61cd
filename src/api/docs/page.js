/**
 * The interactive description: reads openapi.json, lists its operations and lets each be tried. Whatever comes from
 * the document or from an answer is put on the page as text, never as markup. The token lives in its field and nowhere
 * else.
 */
import { tryPanel } from './attempt.js'
import { codeBlock, el, literal, paragraph, prose } from './elements.js'
import { fieldItem, fieldList } from './fields.js'
import { say } from './messages.js'
import { givenExample, plain, readFrom } from './schema.js'
import { searchable, startSearch } from './search.js'

/** Programs read the English description. */
const forPrograms = '/api/v1/openapi.json'
const { lang } = document.documentElement
const source = lang === 'ru' ? '/docs/openapi.ru.json' : forPrograms
const [otherLang, otherName] = lang === 'ru' ? ['en', 'In English'] : ['ru', 'По-русски']
const loadWithinMs = 15_000
const json = 'application/json'

const main = document.getElementById('docs-main')
const menu = document.getElementById('docs-menu')
const wide = matchMedia('(min-width: 64rem)')

const hashOf = (operation) => `#${encodeURIComponent(operation.id)}`
const methodMark = (operation) => el('span', { class: `method ${operation.method}` }, operation.method)

function listOperations(description) {
  // Requests go to the host that served this page, whatever host the description names.
  const { pathname } = new URL(description.servers[0].url, location.origin)
  const server = location.origin + pathname.replace(/\/$/, '')
  const found = Object.entries(description.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, path, method })),
  )
  return found.map((operation) => ({
    ...operation,
    id: operation.operationId,
    tag: operation.tags[0],
    parameters: operation.parameters ?? [],
    body: findBody(operation.requestBody),
    server,
    // What has no price cannot be refused for want of money.
    mayCharge: operation.responses['402'] !== undefined,
    isDestructive: operation['x-destructive'] === true,
    needsToken: (operation.security ?? description.security).length > 0,
    isForTokens: (operation.security ?? description.security).some((each) => 'token' in each),
  }))
}

/** A body without a single field need not be sent. */
function findBody(requestBody) {
  const body = requestBody?.content[json]
  return body && Object.keys(plain(body.schema).properties ?? {}).length > 0 ? body : undefined
}

function operationSection(operation) {
  const title = el('h2', { id: operation.id, tabindex: '-1' }, [
    el('a', { href: hashOf(operation) }, operation.summary),
  ])
  const route = el('p', { class: 'route' }, methodMark(operation), el('code', {}, operation.path))
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))
  const parameters = operation.parameters.map((each) =>
    fieldItem(each.name, each.schema ?? {}, {
      isRequired: each.required,
      isRequest: true,
      path: [],
      where: each.in,
      said: each.description,
    }),
  )
  const words = el('div', { class: 'words' }, [
    title,
    route,
    paragraph(operation.description),
    part(say('Parameters'), parameters.length > 0 && el('ul', { class: 'fields' }, parameters)),
    part(say('Body'), operation.body && fieldList(operation.body.schema, true)),
    success && part(say('Answer {}', success[0]), fieldList(success[1].content[json].schema, false)),
    refusals(operation),
  ])
  return el(
    'section',
    { class: 'operation', 'aria-labelledby': operation.id },
    words,
    tryPanel(operation, success?.[1]),
  )
}

const part = (title, content) => content && [el('h3', {}, title), content]

function refusals(operation) {
  const failures = Object.entries(operation.responses).filter(([status]) => status >= '400')
  const rows = failures.flatMap(([status, response]) =>
    Object.entries(response.content[json].examples).map(([code, { summary }]) =>
      el('tr', {}, el('td', {}, status), el('td', {}, literal(code)), el('td', {}, prose(summary))),
    ),
  )
  const head = el(
    'tr',
    {},
    [say('Status'), say('Code'), say('Meaning')].map((title) => el('th', { scope: 'col' }, title)),
  )
  const table = el('table', {}, el('thead', {}, head), el('tbody', {}, rows))
  const statuses = el('span', { class: 'statuses' }, failures.map(([status]) => status).join(' '))
  return (
    rows.length > 0 && el('details', { class: 'refusals' }, el('summary', {}, say('Refusals'), ' ', statuses), table)
  )
}

/** What holds for every operation: where they are, how to show who is calling, and the shape of every refusal. */
function introduction(description, operations) {
  const { info, components } = description
  const server = new URL(description.servers[0].url, location.origin).href
  const schemes = Object.values(components.securitySchemes).map((scheme) => paragraph(scheme.description))
  const refusal = components.schemas.Refusal
  const words = el('div', { class: 'words' }, [
    el('h1', {}, `${info.title} API`),
    paragraph(info.description, 'lead'),
    part(say('Address'), el('p', {}, literal(server))),
    part(say('Token'), schemes),
    el('p', { class: 'links' }, [
      el('a', { href: `/docs/guides?lang=${lang}` }, say('Guides')),
      el('a', { href: `/docs/login-grammar?lang=${lang}` }, say('Login grammar')),
      el('a', { href: `/docs/errors?lang=${lang}` }, say('Refusals')),
      el('a', { href: `/docs/events?lang=${lang}` }, say('Events')),
      el('a', { href: `/docs/webhooks?lang=${lang}` }, say('Webhooks')),
      el('a', { href: `/docs/mcp?lang=${lang}` }, 'MCP'),
      el('a', { href: `/docs/changelog?lang=${lang}` }, say('Changelog')),
      el('a', { href: forPrograms }, say('openapi.json, for programs')),
      el('a', { href: `?lang=${otherLang}`, hreflang: otherLang, lang: otherLang }, otherName),
    ]),
  ])
  // Operations that need no token have no such refusal.
  const refused = operations.map(({ responses }) => responses['401']).find((each) => each !== undefined)
  const given = givenExample(refused.content[json])
  const example = codeBlock(JSON.stringify(given, null, 2), say('Example of a refusal'))
  const shape = el(
    'details',
    { class: 'refusals' },
    el('summary', {}, say('Fields of a refusal')),
    fieldList(refusal, false),
  )
  const panel = el('div', { class: 'panel' }, el('h3', {}, say('Format of refusals')), example, shape)
  return el('section', { class: 'operation' }, words, panel)
}

function listItem(operation) {
  const route = el('span', { class: 'route' }, methodMark(operation), el('code', {}, operation.path))
  const link = el('a', { href: hashOf(operation) }, operation.summary, route)
  link.addEventListener('click', foldMenu)
  return searchable(el('li', {}, link), operation)
}

/** The list is painted before the sections are made, which takes most of the time. */
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))

async function show(description) {
  readFrom(description)
  const operations = listOperations(description)
  const tags = [...new Set(operations.map((operation) => operation.tag))]
  const groups = tags.map((tag) => ({ tag, members: operations.filter((operation) => operation.tag === tag) }))
  document.getElementById('docs-version').textContent = description.info.version
  document
    .getElementById('docs-list')
    .replaceChildren(
      ...groups.map(({ tag, members }) =>
        el('div', { class: 'group' }, el('h2', {}, tag), el('ul', {}, members.map(listItem))),
      ),
    )
  await painted()
  main.replaceChildren(
    introduction(description, operations),
    ...groups.flatMap(({ tag, members }) => [el('h2', { class: 'tag' }, tag), ...members.map(operationSection)]),
  )
  followReading()
  goToAnchor()
}

/** The sections arrive after the browser has looked for the anchor, so it is gone to again. */
function goToAnchor() {
  const titles = [...main.querySelectorAll('h2[id]')]
  const target = titles.find((title) => `#${encodeURIComponent(title.id)}` === location.hash)
  target?.scrollIntoView()
  target?.focus({ preventScroll: true })
}

/** Marks in the list the operation that is being read: the one that crosses the upper part of the window. */
function followReading() {
  const mark = (entries) => {
    const entered = entries.find((entry) => entry.isIntersecting)
    if (!entered) return
    const href = `#${encodeURIComponent(entered.target.getAttribute('aria-labelledby'))}`
    for (const link of menu.querySelectorAll('a')) {
      if (link.getAttribute('href') === href) link.setAttribute('aria-current', 'true')
      else link.removeAttribute('aria-current')
    }
  }
  const observer = new IntersectionObserver(mark, { rootMargin: '-20% 0px -79% 0px' })
  for (const section of document.querySelectorAll('section[aria-labelledby]')) observer.observe(section)
}

/** The list is beside the text where there is room, and folded above it where there is not. */
function foldMenu() {
  menu.open = wide.matches
}

async function load() {
  main.replaceChildren(el('p', { class: 'loading', role: 'status' }, say('Loading the description…')))
  try {
    const response = await fetch(source, { signal: AbortSignal.timeout(loadWithinMs), credentials: 'omit' })
    if (!response.ok) throw new Error(say('the server answered {}', response.status))
    await show(await response.json())
  } catch (error) {
    showTrouble(error)
  }
}

function showTrouble(error) {
  const again = el('button', { type: 'button', class: 'send' }, say('Try again'))
  again.addEventListener('click', () => void load())
  const why = el('p', {}, say('The description at {} could not be loaded: {}.', source, error.message))
  main.replaceChildren(
    el(
      'section',
      { class: 'loading', role: 'alert' },
      el('h1', {}, say('The API description is not available')),
      why,
      again,
    ),
  )
}

wide.addEventListener('change', foldMenu)
foldMenu()
startSearch(menu)
void load()

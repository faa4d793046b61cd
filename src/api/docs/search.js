import { el } from './elements.js'
import { say } from './messages.js'

const textOf = new Map()
const mostPages = 12

/** Title, address and words of the guides and reasons: loaded when the field first gets the focus. */
let pages = []

/** Puts an item of the list into the search, with all that names its operation. */
export function searchable(item, { id, summary, description, path, method, tag, parameters, body }) {
  const fields = [...parameters.map(({ name }) => name), ...Object.keys(body?.schema?.properties ?? {})]
  textOf.set(item, [id, summary, description, `${method} ${path}`, tag, ...fields].join(' ').toLowerCase())
  return item
}

/** Search in the list: `/` and Ctrl+K focus its field, Enter opens the first match, Escape lists all again. */
export function startSearch(menu) {
  const label = say('Search operations')
  const keys = { 'aria-keyshortcuts': '/ Control+K', autocomplete: 'off', spellcheck: 'false' }
  const field = el('input', { type: 'search', placeholder: `${label} ( / )`, 'aria-label': label, ...keys })
  const count = el('p', { class: 'note', role: 'status' })
  const pageList = el('ul', {})
  const pageGroup = el('div', { class: 'group', id: 'docs-pages' }, el('h2', {}, say('Guides and reasons')), pageList)
  menu.querySelector('summary').after(field, count, pageGroup)

  async function loadPages() {
    const answer = await fetch(`/docs/search.json?lang=${document.documentElement.lang}`, { credentials: 'omit' })
    if (answer.ok) pages = await answer.json()
    filter()
  }
  // Without the index the search finds operations.
  field.addEventListener('focus', () => void loadPages().catch(() => undefined), { once: true })

  function findPages(words) {
    const found = pages.filter((page) => words.every((word) => page.join(' ').toLowerCase().includes(word)))
    return found.slice(0, mostPages).map(([title, href]) => el('li', {}, el('a', { href }, title)))
  }

  function filter() {
    const words = field.value.toLowerCase().split(/\s+/)
    for (const [item, text] of textOf) item.hidden = !words.every((word) => text.includes(word))
    const found = [...textOf.keys()].filter((item) => !item.hidden)
    const isBlank = field.value.trim() === ''
    pageList.replaceChildren(...(isBlank ? [] : findPages(words)))
    found.push(...pageList.children)
    count.textContent = isBlank ? '' : say('{} found', found.length)
    return found
  }
  field.addEventListener('input', filter)
  field.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') filter()[0]?.querySelector('a').click()
    if (key !== 'Escape') return
    field.value = ''
    filter()
  })
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest('input, select, textarea')
    // The place of K on the keyboard: a Russian layout has another letter there.
    const isShortcut = event.ctrlKey || event.metaKey ? event.code === 'KeyK' : event.key === '/' && !isTyping
    if (!isShortcut) return
    event.preventDefault()
    menu.open = true
    field.select()
  })
}

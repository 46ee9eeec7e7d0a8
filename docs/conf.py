"""Settings of Sphinx: Markdown sources by MyST, the furo theme.

sphinx-build -W -n docs build/docs
"""

project = "chipmodel"
copyright = "the chipmodel contributors, Apache-2.0"  # noqa: A001
html_title = "chipmodel"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_typehints = "none"
autodoc_class_signature = "separated"
napoleon_google_docstring = False
myst_enable_extensions = ["deflist", "attrs_inline", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["tools", "examples"]
suppress_warnings = ["myst.header"]  # included files begin at their own level
nitpicky = True
nitpick_ignore = [("py:class", "collections.abc.Callable")]  # of the standard library, which has no page here

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#22588f", "color-brand-content": "#22588f"},
    "dark_css_variables": {"color-brand-primary": "#6aaaf0", "color-brand-content": "#6aaaf0"},
}

# What R answers on the rows of docs/r_users.md: Rscript tools/r_reference.R > tests/reference/r_users.csv
# Packages: glmnet, MASS. Each line is a name and numbers; the data are R's iris and MASS's housing.
suppressMessages({library(glmnet); library(MASS)})
say <- function(name, ...) cat(name, format(c(...), digits = 12, trim = TRUE, scientific = FALSE), sep = ",", fill = FALSE)
line <- function(name, ...) { say(name, ...); cat("\n") }
x <- as.matrix(iris[, 1:3]); y <- iris$Petal.Width; n <- nrow(x)
b <- as.integer(iris$Species == "versicolor")
tight <- function(...) glmnet(..., standardize = FALSE, thresh = 1e-16, maxit = 1e7)
cat("# R", paste(R.version$major, R.version$minor, sep = "."), "glmnet", as.character(packageVersion("glmnet")),
    "MASS", as.character(packageVersion("MASS")), "\n")
line("lasso", as.numeric(coef(tight(x, y, alpha = 1, lambda = 0.05))))
line("elastic_net", as.numeric(coef(tight(x, y, alpha = 0.5, lambda = 0.05))))
line("ridge", as.numeric(coef(tight(x, y, alpha = 0, lambda = 0.05))))
line("binomial", as.numeric(coef(tight(x, b, family = "binomial", alpha = 0.5, lambda = 0.02))))
for (m in coef(tight(x, iris$Species, family = "multinomial", alpha = 1, lambda = 0.02)))
  line("multinomial", as.numeric(m))
line("weights", as.numeric(coef(tight(x, y, alpha = 1, lambda = 0.05, weights = rep(1:3, 50)))))
fold <- rep(1:5, 30); grid <- exp(seq(0, -6, by = -0.25))
cv <- cv.glmnet(x, y, lambda = grid, foldid = fold, standardize = FALSE, thresh = 1e-16)
line("cv_min_1se", cv$lambda.min, cv$lambda.1se)
line("cv_loss", cv$cvm)
cvb <- cv.glmnet(x, b, family = "binomial", lambda = grid, foldid = fold, standardize = FALSE, thresh = 1e-14)
line("cv_binomial_min_1se", cvb$lambda.min, cvb$lambda.1se)
iris$size <- cut(iris$Sepal.Length, c(0, 5.4, 6.2, 9), labels = FALSE)
for (method in c("logistic", "probit", "cloglog")) {
  fit <- polr(factor(size) ~ Sepal.Width + Petal.Length, data = iris, method = method, Hess = TRUE)
  line(paste0("polr_", method), coef(fit), fit$zeta, sqrt(diag(vcov(fit))), logLik(fit))
}
